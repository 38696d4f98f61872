//go:build deploy

package deploytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// A slowUpload is a multipart request that lacks the last byte of its body.
type slowUpload struct {
	net.Conn
}

// startUpload sends the head of an upload of size bytes and sent bytes of its body.
func startUpload(t *testing.T, e *edge, local string, size, sent int, headers ...string) slowUpload {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(e.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	head := fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nGraphQL-Require-Preflight: 1\r\nContent-Length: %d\r\n", size)
	for _, h := range headers {
		head += h + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	// A refusal may close the connection while the body is sent.
	_, _ = conn.Write(make([]byte, sent))
	return slowUpload{conn}
}

// answer reads the response, or fails after ten seconds.
func (u slowUpload) answer(t *testing.T) answer {
	t.Helper()
	if err := u.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(u), nil)
	if err != nil {
		t.Fatalf("no answer to an incomplete upload: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// bodies counts the files that nginx holds for incomplete bodies. nginx keeps them
// unlinked, so the count is that of the descriptors of its processes.
func (e *edge) bodies(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, filepath.Join(e.dir, "client_body")+"/") {
			n++
		}
	}
	return n
}

func errorCode(t *testing.T, a answer) string {
	t.Helper()
	var body struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || len(body.Errors) != 1 {
		t.Fatalf("%d: no GraphQL error: %v\n%.300s", a.status, err, a.body)
	}
	return body.Errors[0].Extensions.Code
}

func TestNginxRefusesAnonymousUploadsBeforeTheBody(t *testing.T) {
	asked := make(chan struct{}, 10)
	_, addr := stub(t, func(http.ResponseWriter, *http.Request) { asked <- struct{}{} })
	e := startNginx(t, []string{addr})
	const size = 12<<20 - 1000
	for name, headers := range map[string][]string{
		"no authorization": nil, "empty authorization": {"Authorization:"},
	} {
		a := startUpload(t, e, "127.0.0.1", size, 1<<20, headers...).answer(t)
		if a.status != http.StatusUnauthorized || errorCode(t, a) != "UNAUTHENTICATED" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if ct := a.header.Get("Content-Type"); ct != "application/json" {
			t.Errorf("%s: content type %q", name, ct)
		}
	}
	if n := e.bodies(t); n != 0 {
		t.Errorf("nginx stores %d anonymous bodies", n)
	}
	if len(asked) != 0 {
		t.Error("a server received an anonymous upload")
	}
}

func TestNginxLimitsLargeBodiesOfOneAddress(t *testing.T) {
	p := startPair(t, nil)
	anna := p.login(t, "13800001111")
	const limit = 20
	for range limit {
		startUpload(t, p.edge, "127.0.0.1", 12<<20-1000, 1<<20, "Authorization: "+bearerOf(t, anna))
	}
	testkit.Eventually(t, 20*time.Second, func() bool { return p.bodies(t) == limit })
	for name, headers := range map[string][]string{
		"signed in": {"Authorization: " + bearerOf(t, anna)}, "invalid token": {"Authorization: Bearer x"},
	} {
		a := startUpload(t, p.edge, "127.0.0.1", 12<<20-1000, 0, headers...).answer(t)
		if a.status != http.StatusTooManyRequests || errorCode(t, a) != "RATE_LIMITED" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.body)
		}
	}
	// Other bodies above 64 KB count too.
	long := `{"query":"{ __typename }","variables":{"x":"` + strings.Repeat("x", 70<<10) + `"}}`
	if a, err := try(t, plain, http.MethodPost, p.URL+"/graphql", long, "Content-Type: application/json"); err != nil || a.status != http.StatusTooManyRequests {
		t.Errorf("a long query: %v %d", err, a.status)
	}
	if a, err := post(t, plain, p.URL); err != nil || a.status != http.StatusOK {
		t.Errorf("a short query of the same address: %v %d", err, a.status)
	}
	other := from("127.0.0.2")
	if a, err := try(t, other, http.MethodPost, p.URL+"/graphql", long, "Content-Type: application/json"); err != nil || a.status != http.StatusOK {
		t.Errorf("a long query of another address: %v %d %.200s", err, a.status, a.body)
	}
}

func TestNginxHidesTheLocationOfLargeBodies(t *testing.T) {
	_, addr := stub(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path+"?"+r.URL.RawQuery) })
	e := startNginx(t, []string{addr})
	if a := ask(t, http.MethodGet, e.URL+"/graphql/large"); a.status != http.StatusNotFound {
		t.Errorf("GET of the internal location: %d", a.status)
	}
	a, err := try(t, plain, http.MethodPost, e.URL+"/graphql?a=b", strings.Repeat("x", 70<<10), "Content-Type: application/json")
	if err != nil || a.status != http.StatusOK || a.body != "/graphql?a=b" {
		t.Errorf("a large body reached %q: %v %d", a.body, err, a.status)
	}
	if a := ask(t, http.MethodPost, e.URL+"/graphql", "Content-Type: multipart/form-data; boundary=x"); a.status != http.StatusUnauthorized {
		t.Errorf("an empty anonymous upload: %d", a.status)
	}
}

func TestNginxLimitsLargeBodiesOfAllAddresses(t *testing.T) {
	_, addr := stub(t, func(http.ResponseWriter, *http.Request) {})
	e := startNginx(t, []string{addr}, change{"limit_conn large_bodies 500;", "limit_conn large_bodies 2;"})
	for _, local := range []string{"127.0.0.1", "127.0.0.2"} {
		startUpload(t, e, local, 12<<20-1000, 1<<20, "Authorization: Bearer x")
	}
	testkit.Eventually(t, 20*time.Second, func() bool { return e.bodies(t) == 2 })
	if a := startUpload(t, e, "127.0.0.3", 12<<20-1000, 0, "Authorization: Bearer x").answer(t); a.status != http.StatusTooManyRequests {
		t.Errorf("an upload of a third address: %d", a.status)
	}
	// A body without a declared length counts as large.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/graphql", io.MultiReader(strings.NewReader(typename)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := plain.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a body of unknown length: %d", res.StatusCode)
	}
	if a, err := post(t, plain, e.URL); err != nil || a.status != http.StatusOK {
		t.Errorf("a short query: %v %d", err, a.status)
	}
}
