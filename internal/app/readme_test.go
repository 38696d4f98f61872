package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// The server must return the answer in the README.
func TestREADMEFirstQuery(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)curl -s (\\S+) -H '([^:]+): ([^']+)' -d '(.*?)'\n```\n+```json\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("the README has no first query")
	}
	s := apptest.Embedded(t).Start(t)
	path := strings.TrimPrefix(string(m[1]), "localhost:8080")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(m[4]))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(string(m[2]), string(m[3]))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(m[5], &want); err != nil {
		t.Fatalf("the answer in the README is invalid JSON: %v", err)
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("(-README +server)\n%s", d)
	}
}

// The password comes from the terminal.
func TestREADMELogin(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := apptest.Embedded(t).Start(t)
	password := regexp.MustCompile(`merchant .* password (\S+)`).FindStringSubmatch(s.Out.String())
	calls := regexp.MustCompile(`(?s)curl -s \S+ -H '[^']+'( -H 'Authorization: Bearer TOKEN')? -d '([^']*)'\n`).FindAllSubmatch(text, -1)
	if len(calls) != 3 || password == nil {
		t.Fatalf("the README has %d calls, the password is %q", len(calls), password)
	}
	query := func(call [][]byte) string {
		var body struct{ Query string }
		if err := json.Unmarshal(call[2], &body); err != nil {
			t.Fatal(err)
		}
		return strings.Replace(body.Query, "PASSWORD", password[1], 1)
	}
	var in struct{ Login struct{ Token string } }
	s.Must(t, query(calls[1]), nil, &in)
	var got struct {
		Me struct {
			Nickname, Phone, Role string
			Shops                 struct{ Edges []any }
		}
	}
	s.As(in.Login.Token).Must(t, query(calls[2]), nil, &got)
	if got.Me.Nickname != "Demo merchant" || got.Me.Phone != "+999****0002" || got.Me.Role != "MERCHANT" || len(got.Me.Shops.Edges) != 2 {
		t.Errorf("got me %+v", got.Me)
	}
}
