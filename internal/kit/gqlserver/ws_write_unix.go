//go:build unix

package gqlserver

import "syscall"

// writeNow writes what the kernel accepts without waiting and returns the number of bytes. The
// next write returns the error, if any.
func writeNow(fd uintptr, p []byte) int {
	for {
		n, err := syscall.Write(int(fd), p) //nolint:gosec // a file descriptor
		if err != syscall.EINTR {
			return max(n, 0)
		}
	}
}
