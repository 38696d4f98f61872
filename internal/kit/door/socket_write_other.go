//go:build !unix

package door

// writeNow leaves everything to who waits for it.
func writeNow(uintptr, []byte) int { return 0 }
