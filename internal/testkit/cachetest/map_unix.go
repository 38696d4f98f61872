//go:build unix

package cachetest

import (
	"os"
	"syscall"
)

// mapFile maps a file into memory that all mapping processes share.
func mapFile(file *os.File, size int) (memory []byte, unmap func() error, err error) {
	memory, err = syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return memory, func() error { return syscall.Munmap(memory) }, err
}
