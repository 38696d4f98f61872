// Package mediapath names uploaded images and encodes the columns that refer to them. It
// does not check whether an image exists.
package mediapath

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Rejected is the error code of an invalid or unusable image path.
const Rejected apierror.Code = "IMAGE_REJECTED"

var shape = regexp.MustCompile(`^/media/[A-Za-z0-9][A-Za-z0-9._/-]{0,180}$`) //nolint:gochecknoglobals // constant

// Valid reports whether path is below /media, has at most 188 bytes, and contains neither
// ".." nor "//".
func Valid(path string) bool {
	return shape.MatchString(path) && !strings.Contains(path, "..") && !strings.Contains(path, "//")
}

// Image is an uploaded image as clients see it. Its URLs are below /media.
type Image struct {
	URL          string `json:"url"`
	Width        *int   `json:"width,omitempty"`  // pixels; nil if unknown
	Height       *int   `json:"height,omitempty"` // pixels; nil if unknown
	ThumbnailURL string `json:"thumbnail_url"`
}

// ImageOf returns the image at path. Width and height are in pixels; 0 is unknown.
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

// Size is the size of an image in pixels.
type Size struct{ Width, Height int }

// Name identifies an image file by its content and its row.
type Name struct {
	Hash  string // the first 160 bits of the SHA-256 of its file, in hexadecimal
	ID    int64  // of the row; a new upload after a deletion gets a new id
	PNG   bool   // false for JPEG
	Small bool   // whether this is the thumbnail
}

var named = regexp.MustCompile(`^([0-9a-f]{40})-([1-9a-z][0-9a-z]{0,12})(-small)?\.(jpg|png)$`) //nolint:gochecknoglobals // constant

// Parse parses a path in the form that [Name.Path] returns. It rejects all other forms.
func Parse(path string) (n Name, ok bool) {
	file, below := strings.CutPrefix(path, "/media/")
	parts := named.FindStringSubmatch(file)
	if !below || parts == nil {
		return Name{}, false
	}
	id, err := strconv.ParseInt(parts[2], 36, 64)
	return Name{Hash: parts[1], ID: id, PNG: parts[4] == "png", Small: parts[3] != ""}, err == nil
}

// File returns the file name.
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

// Path returns the URL path of the file.
func (n Name) Path() string { return "/media/" + n.File() }

// Type returns the content type of the file.
func (n Name) Type() string {
	if n.PNG {
		return "image/png"
	}
	return "image/jpeg"
}

// Editor determines which images an item may show: images that the user uploaded, and
// images that the item already shows.
type Editor struct {
	UserID int64
	ItemID int64 // id of the item; 0 for a new one
	Any    bool  // allows any image; for seeded data
}

// SeedEditor returns the Editor for seeded data. It may show any image.
func SeedEditor() Editor { return Editor{Any: true} }

// Usage lists the images that an item shows after an edit, and its editor.
type Usage struct {
	By    Editor
	Paths []string
}

// NotUploaded is the message for a path that names no uploaded image.
const NotUploaded = "Upload the image here first."

// CheckKnown returns a message for the client if known lacks one of paths, else "".
func CheckKnown(paths []string, known map[string]Size) string {
	for _, path := range paths {
		if _, ok := known[path]; !ok {
			return NotUploaded
		}
	}
	return ""
}

// MaxImages is the maximum number of images of one item.
const MaxImages = 9

// Check returns a message for the client if paths is invalid, else "". A valid list has at
// most [MaxImages] paths. Each is valid and occurs once.
func Check(paths []string) string {
	bad := func(path string) bool { return !Valid(path) }
	switch {
	case len(paths) > MaxImages:
		return "Add at most 9 images."
	case slices.ContainsFunc(paths, bad):
		return NotUploaded
	case len(slices.Compact(slices.Sorted(slices.Values(paths)))) < len(paths):
		return "Add each image only once."
	}
	return ""
}
