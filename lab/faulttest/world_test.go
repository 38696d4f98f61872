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

// needServers ends a test for which there is no PostgreSQL or Redis to start: it fails
// if they were promised, else it is skipped.
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

// aWorld opens a world for a test, which is over with it.
func aWorld(t *testing.T, o Options) *World {
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

// ask posts a GraphQL document as somebody.
func ask(ctx context.Context, url, token, query string) (string, error) {
	body, err := json.Marshal(map[string]string{"query": query})
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

func TestAWorldIsAPlace(t *testing.T) {
	w := aWorld(t, Options{People: 5})
	if n := len(w.People()); n != 7 {
		t.Fatalf("there are %d people", n)
	}
	for i := range w.Servers() {
		for n, p := range w.People() {
			got, err := ask(t.Context(), w.URL(i), p.Token, `{ me { id } }`)
			if want := `{"data":{"me":{"id":"` + p.ID + `"}}}`; err != nil || got != want {
				t.Errorf("server %d: person %d is %s, %v, want %s", i, n, got, err, want)
			}
		}
	}
}
