//go:build !linux

package faulttest

import (
	"slices"
	"strings"
	"syscall"
)

// apart has a process live in a group of its own, and run as somebody if that is
// not nil. Here it outlives a parent that is killed.
func apart(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

// still says whether a process is stopped or dead.
func still(pid int) (bool, error) {
	all, err := processes()
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(all, func(one process) bool { return one.pid == pid })
	return i < 0 || strings.ContainsAny(all[i].state[:1], "TZ"), nil
}
