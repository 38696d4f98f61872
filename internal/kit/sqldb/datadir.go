package sqldb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// LockDir makes dir, if it is missing, and claims it for this process until
// release. A second claim, by any process, is an error that repeats what the
// holder said of itself. A crash releases the claim.
func LockDir(dir, holder string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	path := filepath.Join(dir, "lock")
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if !ok {
		who, _ := os.ReadFile(path + ".holder")
		return nil, fmt.Errorf("the data directory %s is in use by %s; stop it, or choose another with --data-dir",
			dir, strings.TrimSpace(string(who)))
	}
	// The name stands beside the lock: on some systems a locked file cannot be
	// read by others.
	if err := os.WriteFile(path+".holder", []byte(holder+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("sign data directory lock: %w", err), lock.Unlock())
	}
	return lock.Unlock, nil
}
