package mediapath

import (
	"encoding/json"
	"fmt"
)

// A columnImage is an element of a column of pictures, which is a JSON array.
type columnImage struct {
	URL    string `json:"url"`
	Width  int    `json:"width,omitempty"`  // pixels; 0 if unknown
	Height int    `json:"height,omitempty"` // pixels; 0 if unknown
}

// Column encodes the pictures at some paths as a column stores them. A path without a
// known size is stored without one.
func Column(paths []string, known map[string]Size) string {
	images := make([]columnImage, len(paths))
	for i, path := range paths {
		images[i] = columnImage{URL: path, Width: known[path].Width, Height: known[path].Height}
	}
	return encode(images)
}

// ImagesOf decodes a column into pictures as clients see them. It returns nil if there are
// none.
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

// PathsOf decodes a column into the paths of its pictures, in their order.
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

// Without returns a column without the picture at a path, and reports whether it had that
// picture. The others keep their order and their sizes.
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
		panic(err) // texts and numbers always have a JSON form
	}
	return string(column)
}

func decode(column string) ([]columnImage, error) {
	if column == "" || column == "[]" { // "": a statement that did not read it
		return nil, nil
	}
	var images []columnImage
	if err := json.Unmarshal([]byte(column), &images); err != nil {
		return nil, fmt.Errorf("decode images: %w", err)
	}
	return images, nil
}
