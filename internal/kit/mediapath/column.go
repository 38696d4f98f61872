package mediapath

import (
	"encoding/json"
	"fmt"
)

// columnImage is one element of an image column, which is a JSON array.
type columnImage struct {
	URL    string `json:"url"`
	Width  int    `json:"width,omitempty"`  // pixels; 0 if unknown
	Height int    `json:"height,omitempty"` // pixels; 0 if unknown
}

// Column encodes the images at paths for an image column. It omits the size of a path
// that known does not contain.
func Column(paths []string, known map[string]Size) string {
	images := make([]columnImage, len(paths))
	for i, path := range paths {
		images[i] = columnImage{URL: path, Width: known[path].Width, Height: known[path].Height}
	}
	return encode(images)
}

// ImagesOf decodes an image column. It returns nil if the column is empty.
func ImagesOf(column string) ([]Image, error) {
	stored, err := decode(column)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	images := make([]Image, len(stored))
	for i, s := range stored {
		images[i] = ImageOf(s.URL, s.Width, s.Height)
	}
	return images, nil
}

// PathsOf decodes an image column into its paths, in order.
func PathsOf(column string) ([]string, error) {
	stored, err := decode(column)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(stored))
	for i, s := range stored {
		paths[i] = s.URL
	}
	return paths, nil
}

// Without returns a column without the image at path, and reports whether the column
// contained it. The other images keep their order and sizes.
func Without(column, path string) (left string, found bool, err error) {
	stored, err := decode(column)
	if err != nil {
		return "", false, err
	}
	others := make([]columnImage, 0, len(stored))
	for _, s := range stored {
		if s.URL != path {
			others = append(others, s)
		}
	}
	return encode(others), len(others) < len(stored), nil
}

func encode(images []columnImage) string {
	column, err := json.Marshal(images)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(column)
}

func decode(column string) ([]columnImage, error) {
	if column == "" || column == "[]" { // "" if the statement did not select the column
		return nil, nil
	}
	var images []columnImage
	if err := json.Unmarshal([]byte(column), &images); err != nil {
		return nil, fmt.Errorf("decode images: %w", err)
	}
	return images, nil
}
