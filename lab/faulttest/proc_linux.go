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

// apart has a process live in a group of its own, run as somebody if that is not
// nil, and die with the thread that started it.
func apart(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as, Pdeathsig: syscall.SIGKILL}
}

// still says whether no thread of a process runs any more: all are stopped or dead.
func still(pid int) (bool, error) {
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
			continue // it ended
		}
		if err != nil {
			return false, fmt.Errorf("ask for the state of a thread: %w", err)
		}
		// TID (NAME) STATE …, where a name may have parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		if len(state) == 0 || !bytes.ContainsRune([]byte("TtZX"), rune(state[0])) {
			return false, nil
		}
	}
	return true, nil
}
