package web

// Encodings returns the compressed forms of raw, nil for those that are not smaller.
func Encodings(raw []byte) (bodies [][]byte) {
	for _, e := range encodings(raw) {
		bodies = append(bodies, e.body())
	}
	return bodies
}

// Routes returns the paths of the app's routes, and the values of :list.
func Routes() (paths, lists []string) {
	for _, t := range routes() {
		paths, lists = append(paths, t.path), append(lists, t.lists...)
	}
	return paths, lists
}
