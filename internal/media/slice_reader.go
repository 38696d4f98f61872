package media

import "io"

// pieces reads slices one after the other, without a copy of them.
type pieces struct {
	rest [][]byte
	at   int // in the first of them
}

// Read implements [io.Reader].
func (p *pieces) Read(to []byte) (n int, err error) {
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
