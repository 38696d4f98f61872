package importer

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

// Read reads the shops of one file: Overpass JSON of OpenStreetMap, GeoJSON or CSV. It
// recognizes the format by the content, or by the extension if the content is ambiguous.
// The source files osm.go, geojson.go and csv.go describe the formats.
//
// Unusable records are omitted and reported in the File. A broken, incomplete or unknown
// file is an error with line and column (in bytes), and no File. source names the data
// set of ids that are unique only in it (see source.go); "" is none.
//
// The file must be a regular file of at most 512 MB. Read streams it: in addition to the
// drafts, memory holds one record of at most 16 MB.
func Read(ctx context.Context, path, source string) (*File, error) {
	// Stat first, because opening a named pipe waits for a writer.
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
	defer func() { _ = f.Close() }() // read only
	return Decode(ctx, path, source, f, info.Size())
}

// Decode is like [Read] for content that is open. name is the name in errors and in the
// report; its extension counts as in Read.
func Decode(ctx context.Context, name, source string, r io.ReaderAt, size int64) (*File, error) {
	c := newCollector(name, source)
	t, err := newContent(r, size)
	if err == nil {
		err = dispatch(ctx, t, c)
	}
	if found, ok := errors.AsType[*formatError](err); ok {
		line, column, lost := int64(1), found.at+1, error(nil)
		if t.r != nil {
			line, column, lost = t.position(found.at)
		}
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
	head := make([]byte, 1024)
	n, err := io.ReadFull(t.open(), head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read the first bytes: %w", err)
	}
	whole := n < len(head)
	head = bytes.TrimLeft(head[:n], " \t\r\n")
	ext := strings.ToLower(filepath.Ext(c.file.Name))
	switch {
	case len(head) == 0 && whole:
		return &formatError{0, "the file is empty"}
	case bytes.HasPrefix(head, []byte("<")):
		if lower := bytes.ToLower(head); bytes.Contains(lower, []byte("<html")) || bytes.Contains(lower, []byte("<!doctype html")) {
			return &formatError{0, "this is a web page (HTML), probably an error message of the server; download the data again"}
		}
		return &formatError{0, "this looks like XML; ask Overpass for [out:json], or convert the file to GeoJSON"}
	case bytes.HasPrefix(head, []byte("{")), ext == ".json", ext == ".geojson":
		return readJSON(newStream(ctx, t), c)
	default:
		return readCSV(newStream(ctx, t), c)
	}
}
