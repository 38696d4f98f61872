package redisserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/lab/compare/redisserver"
)

// findable puts the server of the tests on PATH.
func findable(t *testing.T) {
	t.Helper()
	if program := os.Getenv("TANDIAN_TEST_REDIS_SERVER"); program != "" {
		t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
}

func TestAServerAnswersUntilItIsStopped(t *testing.T) {
	findable(t)
	url, stop, err := redisserver.Start(t.Context())
	if errors.Is(err, redisserver.ErrNone) && os.Getenv("TANDIAN_REQUIRE_SERVERS") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	if err := rdb.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Errorf("it does not answer: %v", err)
	}
	stop()
	if err := rdb.Ping(t.Context()).Err(); err == nil {
		t.Error("it answers after it was stopped")
	}
	if _, err := os.Stat(filepath.Dir(strings.TrimPrefix(url, "unix://"))); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}

func TestWritesSurviveARestartUnlessTruncated(t *testing.T) {
	findable(t)
	s, err := redisserver.StartKeeping(t.Context())
	if errors.Is(err, redisserver.ErrNone) && os.Getenv("TANDIAN_REQUIRE_SERVERS") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	written := func(key string) int64 {
		t.Helper()
		if err := rdb.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
		length, err := s.Written(t.Context(), rdb)
		if err != nil {
			t.Fatal(err)
		}
		return length
	}
	length := written("first")
	written("second")
	for _, restart := range []struct {
		cut  bool
		want int64
	}{{false, 2}, {true, 1}} {
		if err := s.Cut(length); err == nil {
			t.Error("a server that runs was cut")
		}
		s.Kill()
		if restart.cut {
			if err := s.Cut(length); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != restart.want {
			t.Errorf("cut: %v: it has %d keys, %v; want %d", restart.cut, n, err, restart.want)
		}
	}
}

func TestMissingRedisErrorNamesTheRemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, _, err := redisserver.Start(t.Context()); !errors.Is(err, redisserver.ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
}
