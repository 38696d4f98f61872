// Package mediapath knows what an uploaded picture and its path look like, for
// all who keep one. Whether there is such a picture is not looked at here.
package mediapath

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Rejected is the code of the refusal of a path that is none.
const Rejected apierror.Code = "IMAGE_REJECTED"

var shape = regexp.MustCompile(`^/media/[A-Za-z0-9][A-Za-z0-9._/-]{0,180}$`) //nolint:gochecknoglobals // a constant that Go cannot say

// Valid reports whether path is one below /media, of at most 188 bytes, that
// does not lead out again.
func Valid(path string) bool {
	return shape.MatchString(path) && !strings.Contains(path, "..") && !strings.Contains(path, "//")
}

// An Image is a picture as clients see it, at a URL below /media.
type Image struct {
	URL          string `json:"url"`
	Width        *int   `json:"width,omitempty"`  // pixels; nil if unknown
	Height       *int   `json:"height,omitempty"` // pixels; nil if unknown
	ThumbnailURL string `json:"thumbnail_url"`
}

// ImageOf is the picture at a path, with its size in pixels, 0 if unknown.
func ImageOf(path string, width, height int) Image {
	known := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	i := Image{URL: path, Width: known(width), Height: known(height), ThumbnailURL: path}
	if name, ok := Parse(path); ok {
		name.Small = true
		i.ThumbnailURL = name.Path()
	}
	return i
}

// A Size is that of a picture in pixels.
type Size struct{ Width, Height int }

// A Name is what a picture that is kept here is called: by its content, and by its row.
type Name struct {
	Hash  string // the first 160 bits of the SHA-256 of its file, in hexadecimal
	ID    int64  // of its row: what is collected and uploaded again has another one
	PNG   bool   // else it is a JPEG
	Small bool   // its thumbnail
}

var named = regexp.MustCompile(`^([0-9a-f]{40})-([1-9a-z][0-9a-z]{0,12})(-small)?\.(jpg|png)$`) //nolint:gochecknoglobals // a constant that Go cannot say

// Parse reads the path of a picture as [Name.Path] writes it, and no other.
func Parse(path string) (n Name, ok bool) {
	file, below := strings.CutPrefix(path, "/media/")
	parts := named.FindStringSubmatch(file)
	if !below || parts == nil {
		return Name{}, false
	}
	id, err := strconv.ParseInt(parts[2], 36, 64)
	return Name{Hash: parts[1], ID: id, PNG: parts[4] == "png", Small: parts[3] != ""}, err == nil
}

// File is the name of the file.
func (n Name) File() string {
	small, extension := "", ".jpg"
	if n.Small {
		small = "-small"
	}
	if n.PNG {
		extension = ".png"
	}
	return n.Hash + "-" + strconv.FormatInt(n.ID, 36) + small + extension
}

// Path is where the file is served.
func (n Name) Path() string { return "/media/" + n.File() }

// Type is the content type of the file.
func (n Name) Type() string {
	if n.PNG {
		return "image/png"
	}
	return "image/jpeg"
}

// An Editor decides which pictures a thing may show: those that the user uploaded, and
// those that the thing shows already.
type Editor struct {
	UserID  int64
	ThingID int64 // id of the thing; 0 for a new one
	Any     bool  // any picture: for seeded data
}

// Program returns the Editor of seeded data. It may show any picture.
func Program() Editor { return Editor{Any: true} }

// Shown lists the pictures that a thing shows from now on, and its editor.
type Shown struct {
	By    Editor
	Paths []string
}

// NotHere is said of a path that names no picture which is kept here.
const NotHere = "An image must be one that was uploaded here."

// Missing says for people that some of the paths are not among those that are known, ""
// if all are.
func Missing(paths []string, known map[string]Size) string {
	for _, path := range paths {
		if _, ok := known[path]; !ok {
			return NotHere
		}
	}
	return ""
}

// MaxImages is how many pictures one thing has at most.
const MaxImages = 9

// Check says for people what is wrong with a list of paths: there are at most
// [MaxImages], each valid and once. "" is nothing.
func Check(paths []string) string {
	bad := func(path string) bool { return !Valid(path) }
	switch {
	case len(paths) > MaxImages:
		return "There can be at most 9 images."
	case slices.ContainsFunc(paths, bad):
		return NotHere
	case len(slices.Compact(slices.Sorted(slices.Values(paths)))) < len(paths):
		return "An image stands in the list twice."
	}
	return ""
}
