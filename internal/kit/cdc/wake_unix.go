//go:build unix

package cdc

import (
	"net"
	"syscall"
)

// wakeFrom has the kernel wake this process for a socket only when that many bytes can be
// read. It does nothing for a connection that is no socket: then each message wakes it.
func wakeFrom(conn net.Conn, bytes int) {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn() // below TLS
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	})
}
