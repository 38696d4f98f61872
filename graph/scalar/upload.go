package scalar

import (
	"io"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Upload is an uploaded file. It omits the file name and the content type, because they
// are not trustworthy.
type Upload struct{ File io.ReadSeeker }

// UnmarshalUpload returns the file of a multipart request.
func UnmarshalUpload(v any) (Upload, error) {
	u, ok := v.(graphql.Upload)
	if !ok {
		return Upload{}, apierror.BadInput("an Upload must be a file of a multipart request")
	}
	return Upload{u.File}, nil
}

// MarshalUpload exists for gqlgen, which never calls it: no response contains a file.
func MarshalUpload(Upload) graphql.Marshaler { return graphql.Null }
