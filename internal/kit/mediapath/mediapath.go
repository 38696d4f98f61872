// Package mediapath knows what the path of an uploaded picture looks like, for
// all who keep one. Whether there is such a picture is not looked at here.
package mediapath

import (
	"regexp"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/fault"
)

// Rejected is the code of the refusal of a path that is none.
const Rejected fault.Code = "IMAGE_REJECTED"

var shape = regexp.MustCompile(`^/media/[A-Za-z0-9][A-Za-z0-9._/-]{0,180}$`) //nolint:gochecknoglobals // a constant that Go cannot say

// Valid reports whether path is one below /media, of at most 188 bytes, that
// does not lead out again.
func Valid(path string) bool {
	return shape.MatchString(path) && !strings.Contains(path, "..") && !strings.Contains(path, "//")
}
