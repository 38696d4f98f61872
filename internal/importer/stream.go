package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

const (
	maxFile   = 512 << 20 // bytes of a file
	maxRecord = 16 << 20  // bytes of one element, feature or row
)

// A formatError is the reason why a file cannot be read, and its position.
type formatError struct {
	at   int64 // bytes from the beginning of the text
	what string
}

func (f *formatError) Error() string { return fmt.Sprintf("byte %d: %s", f.at, f.what) }

// A content is the text of a file, in UTF-8 and without its byte order mark.
type content struct {
	r     io.ReaderAt
	skip  int64             // bytes of the byte order mark
	size  int64             // bytes of the file
	utf16 encoding.Encoding // nil for UTF-8
}

// newContent detects the encoding by the byte order mark. It rejects binary files that
// are often taken for text.
func newContent(r io.ReaderAt, size int64) (content, error) {
	head := make([]byte, 64)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return content{}, fmt.Errorf("read the first bytes: %w", err)
	}
	head = head[:n]
	t := content{r: r, size: size}
	has := func(mark string) bool { return bytes.HasPrefix(head, []byte(mark)) }
	switch {
	case has("\xff\xfe\x00\x00"), has("\x00\x00\xfe\xff"):
		return content{}, &formatError{0, "the file is UTF-32; save it as UTF-8"}
	case has("\xef\xbb\xbf"):
		t.skip = 3
	case has("\xff\xfe"):
		t.skip, t.utf16 = 2, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case has("\xfe\xff"):
		t.skip, t.utf16 = 2, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case has("\x1f\x8b"):
		return content{}, &formatError{0, "the file is compressed (gzip); unpack it first"}
	case has("PK\x03\x04"):
		return content{}, &formatError{0, "the file is a ZIP archive or an Excel workbook; unpack it, or save it as CSV in UTF-8"}
	case len(head) > 1 && (head[0] == 0) != (head[1] == 0):
		return content{}, &formatError{0, "the file looks like UTF-16 without a byte order mark; save it as UTF-8"}
	}
	return t, nil
}

// open returns a reader of the text from its beginning.
func (t content) open() io.Reader {
	r := io.NewSectionReader(t.r, t.skip, t.size-t.skip)
	if t.utf16 == nil {
		return r
	}
	return t.utf16.NewDecoder().Reader(r)
}

// position converts an offset into a line and a column as editors show them, both from 1.
// The column counts bytes, as in encoding/csv. Lines end with LF, CR LF or CR.
func (t content) position(at int64) (line, column int64, err error) {
	line, column = 1, 1
	r := bufio.NewReaderSize(io.LimitReader(t.open(), at), 64<<10)
	for last := byte(0); ; {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return line, column, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("find the line at byte %d: %w", at, err)
		}
		switch {
		case b == '\n' && last == '\r':
			column = 1
		case b == '\n', b == '\r':
			line, column = line+1, 1
		default:
			column++
		}
		last = b
	}
}

// A stream reads a text once. It ends with its context and rejects text that is not
// UTF-8.
type stream struct {
	ctx  context.Context // io.Reader has no context parameter
	r    io.Reader
	read int64  // bytes returned
	open []byte // first bytes of an incomplete character
}

func newStream(ctx context.Context, t content) *stream {
	return &stream{ctx: ctx, r: t.open()}
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	if bad := s.check(p[:n], errors.Is(err, io.EOF)); bad >= 0 {
		return 0, &formatError{bad, "not UTF-8 from here on (is the text Latin-1, Windows-1252 or GB 18030?); save the file as UTF-8"}
	}
	s.read += int64(n)
	return n, err
}

// check validates the next bytes, after those of an incomplete character. It returns the
// offset where the text stops being UTF-8, or -1.
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

// unfinished returns the number of bytes at the end of b that begin an incomplete
// character.
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

// validPrefix returns the number of bytes before the first one that is not UTF-8.
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
