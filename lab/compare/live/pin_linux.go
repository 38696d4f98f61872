package live

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// stayOn pins this process, and the processes that it starts, to one processor.
func stayOn(cpu int) error {
	for range 2 { // a thread that an unpinned thread started meanwhile
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list the threads of this process: %w", err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return fmt.Errorf("read a thread of this process: %w", err)
			}
			if err := schedule(id, cpu); err != nil && err != unix.ESRCH { //nolint:errorlint // as it comes
				return fmt.Errorf("pin to processor %d: %w", cpu, err)
			}
		}
	}
	return nil
}

// startOn calls a function that starts a process, which then runs on one processor only.
func startOn(cpu int, start func() error) error {
	runtime.LockOSThread() // a process begins where the thread may be that starts it
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read the processors of a thread: %w", err)
	}
	if err := schedule(0, cpu); err != nil {
		return fmt.Errorf("move to processor %d: %w", cpu, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	return start()
}

func schedule(thread, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(thread, &set)
}
