package redisserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/bench/redisserver"
)

func TestAServerAnswersUntilItIsStopped(t *testing.T) {
	// The one that the tests use need not be on PATH.
	if program := os.Getenv("TANDIAN_TEST_REDIS_SERVER"); program != "" {
		t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
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

func TestAMachineWithoutRedisIsToldWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, _, err := redisserver.Start(t.Context()); !errors.Is(err, redisserver.ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
}
