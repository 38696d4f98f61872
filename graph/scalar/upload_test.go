package scalar

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

func TestUploadIsAFile(t *testing.T) {
	file := strings.NewReader("a")
	if u, err := UnmarshalUpload(graphql.Upload{File: file, Filename: "../a.exe"}); err != nil || u.File != file {
		t.Errorf("got %v, %v", u, err)
	}
	for _, v := range []any{nil, "a.png", 1, map[string]any{"file": "a"}} {
		if _, err := UnmarshalUpload(v); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%v is a file: %v", v, err)
		}
	}
}
