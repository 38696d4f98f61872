//go:build unix

package gqlserver

import "syscall"

// writeNow writes what the kernel takes of it without waiting, and returns how much
// that is. What an error means is found by who writes the rest.
func writeNow(fd uintptr, p []byte) int {
	for {
		n, err := syscall.Write(int(fd), p) //nolint:gosec // a file descriptor
		if err != syscall.EINTR {
			return max(n, 0)
		}
	}
}
