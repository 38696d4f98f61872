package faulttest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// sysProcAttr starts a process in its own group, as the user of a credential that is not nil.
// The process dies with the thread that started it.
func sysProcAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as, Pdeathsig: syscall.SIGKILL}
}

// isStopped reports whether all threads of a process are stopped or dead.
func isStopped(pid int) (bool, error) {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, err := os.ReadDir(tasks)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("list threads: %w", err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(filepath.Join(tasks, thread.Name(), "stat"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it exited
		}
		if err != nil {
			return false, fmt.Errorf("read thread state: %w", err)
		}
		// The format is TID (NAME) STATE …; a name may contain parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		if len(state) == 0 || !bytes.ContainsRune([]byte("TtZX"), rune(state[0])) {
			return false, nil
		}
	}
	return true, nil
}
