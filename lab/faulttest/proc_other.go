//go:build !linux

package faulttest

import (
	"slices"
	"strings"
	"syscall"
)

// sysProcAttr starts a process in its own group, as the user of a credential that is not nil.
// Here the process outlives a parent that is killed.
func sysProcAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

// isStopped reports whether a process is stopped or dead.
func isStopped(pid int) (bool, error) {
	all, err := processes()
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(all, func(one process) bool { return one.pid == pid })
	return i < 0 || strings.ContainsAny(all[i].state[:1], "TZ"), nil
}
