package faulttest

import "syscall"

// apart has a process live in a group of its own, run as somebody if that is not
// nil, and die with the thread that started it.
func apart(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as, Pdeathsig: syscall.SIGKILL}
}
