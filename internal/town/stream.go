package town

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	maxFile   = 512 << 20 // bytes of a file
	maxRecord = 16 << 20  // bytes of one element, feature or row
)

// A formatError is why a file cannot be read, and where that shows.
type formatError struct {
	at   int64 // bytes from the beginning of the text
	what string
}

func (f *formatError) Error() string { return fmt.Sprintf("byte %d: %s", f.at, f.what) }

// A content is that of a file behind its byte order mark, if it has one.
type content struct {
	r    io.ReaderAt
	size int64
}

// newContent leaves out the byte order mark that spreadsheets put before UTF-8.
func newContent(r io.ReaderAt, size int64) (content, error) {
	mark := []byte("\ufeff")
	head := make([]byte, len(mark))
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return content{}, fmt.Errorf("read the beginning: %w", err)
	}
	if bytes.Equal(head[:n], mark) {
		skip := int64(len(mark))
		return content{io.NewSectionReader(r, skip, size-skip), size - skip}, nil
	}
	return content{r, size}, nil
}

// from reads the text from one byte to its end.
func (t content) from(at int64) io.Reader { return io.NewSectionReader(t.r, at, t.size-at) }

// position turns a byte into a line and a column as editors show them, both
// from 1; the column counts bytes, as those of encoding/csv do.
func (t content) position(at int64) (line, column int64, err error) {
	line, column = 1, at+1
	r := io.NewSectionReader(t.r, 0, min(at, t.size))
	buf := make([]byte, 64<<10)
	for read := int64(0); ; {
		n, err := r.Read(buf)
		line += int64(bytes.Count(buf[:n], []byte("\n")))
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			column = at - (read + int64(i))
		}
		read += int64(n)
		if errors.Is(err, io.EOF) {
			return line, column, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("find the line of byte %d: %w", at, err)
		}
	}
}

// A stream hands out a text once, for a decoder that reads record by record.
// It ends with its context, and refuses what is not UTF-8 and records beyond
// maxRecord, so a decoder never holds more than that.
type stream struct {
	ctx  context.Context // an io.Reader has no other way to hear of it
	r    io.Reader
	read int64  // bytes handed out
	mark int64  // where the last complete record ended
	open []byte // the beginning of a character whose rest is not read yet
}

func newStream(ctx context.Context, t content) *stream {
	return &stream{ctx: ctx, r: t.from(0)}
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	room := maxRecord - (s.read - s.mark)
	if room <= 0 {
		return 0, &formatError{s.mark, fmt.Sprintf("a record of more than %d MB begins here", maxRecord>>20)}
	}
	n, err := s.r.Read(p[:min(int64(len(p)), room)])
	if bad := s.check(p[:n], errors.Is(err, io.EOF)); bad >= 0 {
		return 0, &formatError{bad, "not UTF-8 from here on; save the file as UTF-8"}
	}
	s.read += int64(n)
	return n, err
}

// check looks at the next bytes, and at those that a character left open
// before. It returns where the text stops being UTF-8, or -1.
func (s *stream) check(b []byte, last bool) int64 {
	at := s.read
	for len(s.open) > 0 && len(b) > 0 {
		s.open, b, at = append(s.open, b[0]), b[1:], at+1
		if !utf8.FullRune(s.open) {
			continue
		}
		if !utf8.Valid(s.open) {
			return at - int64(len(s.open))
		}
		s.open = s.open[:0]
	}
	if len(s.open) == 0 {
		whole := len(b) - unfinished(b)
		if !utf8.Valid(b[:whole]) {
			return at + int64(validPrefix(b))
		}
		s.open, at = append(s.open, b[whole:]...), at+int64(len(b))
	}
	if last && len(s.open) > 0 {
		return at - int64(len(s.open))
	}
	return -1
}

// unfinished is the number of bytes at the end of b that begin a character
// but do not complete it.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// validPrefix is the number of bytes before the first one that is not UTF-8.
func validPrefix(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		i += n
	}
	return i
}
