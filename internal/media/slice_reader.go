package media

import "io"

// sliceReader reads slices one after the other, without copying them.
type sliceReader struct {
	rest [][]byte
	at   int // offset in the first slice
}

// Read implements [io.Reader].
func (p *sliceReader) Read(to []byte) (n int, err error) {
	for len(p.rest) > 0 && n < len(to) {
		m := copy(to[n:], p.rest[0][p.at:])
		n, p.at = n+m, p.at+m
		if p.at == len(p.rest[0]) {
			p.rest, p.at = p.rest[1:], 0
		}
	}
	if n == 0 && len(to) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
