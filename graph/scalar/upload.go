package scalar

import (
	"io"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Upload is a file that somebody sent. Its name and what it says to be are left out:
// nobody should believe them.
type Upload struct{ File io.ReadSeeker }

// UnmarshalUpload takes the file that a multipart request has in this place.
func UnmarshalUpload(v any) (Upload, error) {
	u, ok := v.(graphql.Upload)
	if !ok {
		return Upload{}, apierror.BadInput("an Upload is a file in a multipart request")
	}
	return Upload{u.File}, nil
}

// MarshalUpload is asked for by gqlgen, and never called: no answer has files.
func MarshalUpload(Upload) graphql.Marshaler { return graphql.Null }
