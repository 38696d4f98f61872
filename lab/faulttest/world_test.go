package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// needServers skips the test if there is no PostgreSQL or Redis executable. It fails the test
// if TANDIAN_REQUIRE_SERVERS promises them.
func needServers(t *testing.T) {
	t.Helper()
	_, _, noPG := subprocess.FindPostgres()
	_, noRedis := FindRedis()
	if err := errors.Join(noPG, noRedis); err != nil {
		if os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1" {
			t.Fatalf("TANDIAN_REQUIRE_SERVERS=1 promises PostgreSQL and Redis: %v", err)
		}
		t.Skipf("%v: run `make test`", err)
	}
}

// openTestWorld opens a world that is closed at the end of the test.
func openTestWorld(t *testing.T, o Options) *World {
	t.Helper()
	needServers(t)
	o.Binary, o.Dir = builtServer(t), t.TempDir()
	w, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		for _, death := range w.Deaths() {
			t.Error(death)
		}
	})
	return w
}

// query posts a GraphQL document as a user.
func query(ctx context.Context, url, token, document string) (string, error) {
	body, err := json.Marshal(map[string]string{"query": document})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

func TestWorldServesAllPeople(t *testing.T) {
	w := openTestWorld(t, Options{People: 5})
	if n := len(w.People()); n != 7 {
		t.Fatalf("got %d people, want 7", n)
	}
	for i := range w.Servers() {
		for n, p := range w.People() {
			got, err := query(t.Context(), w.URL(i), p.Token, `{ me { id } }`)
			if want := `{"data":{"me":{"id":"` + p.ID + `"}}}`; err != nil || got != want {
				t.Errorf("server %d, person %d: got %s, %v, want %s", i, n, got, err, want)
			}
		}
	}
}
