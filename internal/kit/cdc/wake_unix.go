//go:build unix

package cdc

import (
	"net"
	"syscall"
)

// setWakeSize makes the kernel wake this process for a socket only when that many bytes
// are readable. It does nothing if the connection is not a socket: then each message
// wakes it.
func setWakeSize(conn net.Conn, bytes int) {
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
