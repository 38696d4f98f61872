package faulttest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

// programs builds the server once for all tests of this process.
var programs struct { //nolint:gochecknoglobals // shared by all tests
	dir   string
	build func() (string, error)
}

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	if threads := os.Getenv(busyThreads); threads != "" {
		fmt.Fprintln(os.Stderr, beBusy(threads))
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "tandian-faulttest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs.dir = dir
	programs.build = sync.OnceValues(func() (string, error) { return BuildServer(context.Background(), dir, "") })
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// builtServer returns the path of the server's program.
func builtServer(t *testing.T) string {
	t.Helper()
	path, err := programs.build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
