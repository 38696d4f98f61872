//go:build !unix

package gqlserver

// writeNow leaves everything to who waits for it.
func writeNow(uintptr, []byte) int { return 0 }
