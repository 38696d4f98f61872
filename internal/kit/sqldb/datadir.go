package sqldb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// LockDir creates dir if it is missing, and locks it for this process until release is called or the
// process ends. If another process or call holds the lock, the error contains its holder.
func LockDir(dir, holder string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	path := filepath.Join(dir, "lock")
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if !ok {
		owner, _ := os.ReadFile(path + ".holder")
		return nil, fmt.Errorf("data directory %s is in use by %s: stop it, or set another --data-dir",
			dir, strings.TrimSpace(string(owner)))
	}
	// The name is in a second file: on some systems, other processes cannot read a locked file.
	if err := os.WriteFile(path+".holder", []byte(holder+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write holder of data directory lock: %w", err), lock.Unlock())
	}
	return lock.Unlock, nil
}
