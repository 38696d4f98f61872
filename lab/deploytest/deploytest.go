// Package deploytest runs Tandian's production environment from the files of deploy/: nginx, Redis
// with its ACL and certificates, Prometheus with its exporters. The programs are the real ones;
// each test starts its own.
//
// Tests that need more than PostgreSQL and Redis have the build tag deploy: `make deploytest`
// installs the programs and runs them all.
package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// File returns the path of a file of the repository, named from its root.
func File(path string) string { return filepath.Join("..", "..", filepath.FromSlash(path)) }

// Program returns the path of the first installed program of these names. Without one, a test fails
// in CI, and is skipped elsewhere.
func Program(tb testing.TB, names ...string) string {
	tb.Helper()
	for _, name := range names {
		for _, dir := range []string{"", "/usr/sbin", "/sbin"} { // Debian has nginx where only root looks
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
	}
	if os.Getenv("CI") != "" {
		tb.Fatalf("needs %s: scripts/servers.sh install-deploy", names[0])
	}
	tb.Skipf("needs %s: scripts/servers.sh install-deploy", names[0])
	return ""
}
