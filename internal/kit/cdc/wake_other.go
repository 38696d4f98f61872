//go:build !unix

package cdc

import "net"

// setWakeSize does nothing here: each message wakes this process.
func setWakeSize(net.Conn, int) {}
