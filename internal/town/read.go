package town

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Read reads the shops of one file: OpenStreetMap's Overpass JSON, GeoJSON or
// CSV, recognised by its content, and by the extension of its name where the
// content could be several. The formats are described in the documentation of
// the package's source files osm.go, geojson.go and csv.go.
//
// Single records that can't be used are left out and reported in the File. A
// file that is broken or of another shape is one error with the line and
// column (in bytes) where that shows, and no File. The file must be a regular
// one of at most 512 MB. It is read as a stream: besides the drafts, memory
// holds one record at a time, of at most 16 MB.
func Read(ctx context.Context, path string) (*File, error) {
	// Stat comes first, because opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read shops: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read shops: %s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read shops: %s has %d MB, more than %d", path, info.Size()>>20, maxFile>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read shops: %w", err)
	}
	defer func() { _ = f.Close() }() // only read: nothing is lost
	return decode(ctx, path, f, info.Size())
}

// decode is Read of content that is open already.
func decode(ctx context.Context, name string, r io.ReaderAt, size int64) (*File, error) {
	t, err := newContent(r, size)
	if err != nil {
		return nil, fmt.Errorf("read shops: %s: %w", name, err)
	}
	c := newCollector(name)
	err = dispatch(ctx, t, c)
	if found, ok := errors.AsType[*formatError](err); ok {
		line, column, lost := t.position(found.at)
		if lost != nil {
			return nil, fmt.Errorf("read shops: %s: %w", name, lost)
		}
		return nil, fmt.Errorf("read shops: %s: line %d, column %d: %s", name, line, column, found.what)
	}
	if err != nil {
		return nil, fmt.Errorf("read shops: %s: %w", name, err)
	}
	return c.file, nil
}

// dispatch reads the text in the format that it seems to have.
func dispatch(ctx context.Context, t content, c *collector) error {
	head := make([]byte, 512)
	n, err := t.from(0).Read(head)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the beginning: %w", err)
	}
	head = bytes.TrimLeft(head[:n], " \t\r\n")
	ext := strings.ToLower(filepath.Ext(c.file.Name))
	switch {
	case len(head) == 0 && t.size <= int64(n):
		return &formatError{0, "the file is empty"}
	case bytes.HasPrefix(head, []byte("{")), ext == ".json", ext == ".geojson":
		return readJSON(newStream(ctx, t), t, c)
	case bytes.HasPrefix(head, []byte("<")):
		return &formatError{0, "this looks like XML; ask Overpass for [out:json], or convert the file to GeoJSON"}
	default:
		return readCSV(newStream(ctx, t), c)
	}
}
