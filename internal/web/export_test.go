package web

// Encodings are the compressed forms of raw, nil for one that is not smaller.
func Encodings(raw []byte) (bodies [][]byte) {
	for _, e := range encodings(raw) {
		bodies = append(bodies, e.body())
	}
	return bodies
}
