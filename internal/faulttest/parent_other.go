//go:build !linux

package faulttest

import "syscall"

// apart has a process live in a group of its own, and run as somebody if that is
// not nil. Here it outlives a parent that is killed.
func apart(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
