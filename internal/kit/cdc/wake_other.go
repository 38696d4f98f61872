//go:build !unix

package logreader

import "net"

// wakeFrom does nothing here: each message wakes this process.
func wakeFrom(net.Conn, int) {}
