package subprocess

import (
	"os"
	"testing"
	"time"
)

func TestRestartKeepsPersistentData(t *testing.T) {
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs redis-server: run `make test`")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, tt := range []struct {
		options []string
		want    int64
	}{
		{[]string{"--appendonly", "yes", "--appendfsync", "everysec"}, 1},
		{nil, 0},
	} {
		s, err := StartRedis(t.Context(), tt.options...)
		if err != nil {
			t.Fatal(err)
		}
		rdb, err := OpenPatient(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := rdb.Set(t.Context(), "key", "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.Restart(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Errorf("got a restart within %v, want at least 100ms", took)
		}
		_ = rdb.Close()
		if rdb, err = OpenPatient(s.URL); err != nil {
			t.Fatal(err)
		}
		if n, err := rdb.Exists(t.Context(), "key").Result(); err != nil || n != tt.want {
			t.Errorf("options %q: got %d keys, %v, want %d", tt.options, n, err, tt.want)
		}
		_ = rdb.Close()
		s.Stop()
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("got files left: %v, %v", left, err)
	}
}
