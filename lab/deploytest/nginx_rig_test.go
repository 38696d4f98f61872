//go:build deploy

package deploytest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// An edge is a running nginx with the configuration of deploy/.
type edge struct {
	URL string // without a path
	dir string
}

// guard runs a program that ends with its own input, so also when the test process is killed.
const guard = `"$@" </dev/null & cat >/dev/null; kill -TERM $! 2>/dev/null; wait $!`

// A change is a difference between deploy/nginx.conf and the configuration of a test. The replaced
// text must occur exactly once.
type change struct{ old, new string }

// startNginx starts nginx with deploy/nginx.conf before servers, each host:port. Only the port, the
// folders, the servers and the changes differ.
func startNginx(t *testing.T, servers []string, changes ...change) *edge {
	t.Helper()
	program := Program(t, "nginx")
	dir := t.TempDir()
	port := freePort(t)
	text, err := os.ReadFile(File("deploy/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	conf := string(text)
	changes = append([]change{
		{"listen 8080 default_server;", "listen 127.0.0.1:" + port + " default_server;"},
		{"error_log /var/log/nginx/", "error_log " + dir + "/"},
		{"access_log /var/log/nginx/", "access_log " + dir + "/"},
		{"proxy_cache_path /var/cache/nginx/files", "proxy_cache_path " + dir + "/files"},
		{"proxy_cache_path /var/cache/nginx/answers", "proxy_cache_path " + dir + "/answers"},
		{"client_body_temp_path /var/cache/nginx-bodies", "client_body_temp_path " + dir + "/client_body"},
		// Only root may write to the default folders of Debian's nginx.
		{"\nhttp {", "\nhttp {\n" + temporary(dir)},
	}, changes...)
	for _, c := range changes {
		if n := strings.Count(conf, c.old); n != 1 {
			t.Fatalf("deploy/nginx.conf has %q %d times", c.old, n)
		}
		conf = strings.Replace(conf, c.old, c.new, 1)
	}
	list, err := os.ReadFile(File("deploy/tandian-servers.conf"))
	if err != nil {
		t.Fatal(err)
	}
	// The line of the first server is repeated for each server of the test.
	_, options, found := strings.Cut(string(list), "\nserver server-1:8080")
	options, _, _ = strings.Cut(options, "\n")
	if !found {
		t.Fatal("deploy/tandian-servers.conf has no server-1")
	}
	var lines strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&lines, "server %s%s\n", s, options)
	}
	write(t, filepath.Join(dir, "nginx.conf"), conf)
	write(t, filepath.Join(dir, "tandian-servers.conf"), lines.String())

	cmd := exec.Command("sh", "-c", guard, "guard", program, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-g", settings(dir))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	end, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start nginx: %v", err)
	}
	e := &edge{URL: "http://127.0.0.1:" + port, dir: dir}
	t.Cleanup(func() {
		_ = end.Close()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx:\n%s%s", said.String(), e.log("error.log"))
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			return e
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not listen: %v\n%s%s", err, said.String(), e.log("error.log"))
		}
	}
}

// settings returns the lines before the configuration. Without them, workers of an nginx started by
// root run as another user, which may not enter the folders of tests.
func settings(dir string) string {
	text := "daemon off; pid " + dir + "/pid;"
	if os.Geteuid() == 0 {
		text += " user root;"
	}
	return text
}

// temporary moves the folders for incomplete answers below dir.
func temporary(dir string) string {
	var b strings.Builder
	for _, name := range []string{"proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "    %s_temp_path %s/%[1]s;\n", name, dir)
	}
	return b.String()
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// log returns the content of one of nginx's logs.
func (e *edge) log(name string) string {
	text, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// kept returns the remaining time of an entry in one of nginx's caches, rounded; ok is false if
// there is none.
func (e *edge) kept(t *testing.T, cache, key string) (left time.Duration, ok bool) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(e.dir, cache), func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(content, []byte("\nKEY: "+key+"\n")) {
			return nil
		}
		// The file begins with its version and its expiry in seconds, each as a long of the
		// machine.
		until := time.Unix(int64(binary.NativeEndian.Uint64(content[8:])), 0)
		left, ok = time.Until(until), true
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return left, ok
}

// through is a server behind nginx.
func (e *edge) through(s *apptest.Server) *apptest.Server {
	behind := *s
	behind.URL = e.URL
	return &behind
}

// An answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) cache() string { return a.header.Get("X-Cache-Status") }

// plain is a client without automatic encodings and redirects.
var plain = &http.Client{ //nolint:gochecknoglobals // as the default client is one
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 50},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       30 * time.Second,
}

// ask sends a request with headers, each "Name: value".
func ask(t *testing.T, method, address string, headers ...string) answer {
	t.Helper()
	a, err := try(t, plain, method, address, "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func try(t *testing.T, client *http.Client, method, address, body string, headers ...string) (answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(text)}, err
}

// from returns a client with an address of this machine.
func from(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true}, Timeout: 30 * time.Second}
}

// stub starts a server with the handler of a test, and returns its host:port.
func stub(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, addr string) {
	t.Helper()
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server, strings.TrimPrefix(server.URL, "http://")
}

// A pair is two servers on the same stores, behind nginx.
type pair struct {
	*edge
	servers [2]*apptest.Server
	stack   *apptest.Stack
}

// startPair starts both on PostgreSQL and Redis, with nginx as the only trusted proxy.
func startPair(t *testing.T, set func(*apptest.Stack), changes ...change) *pair {
	t.Helper()
	Program(t, "nginx")
	stack := apptest.Real(t)
	stack.Config.TrustedProxies = []string{"127.0.0.1"}
	stack.Config.MediaURL = (&url.URL{Scheme: "file", Path: filepath.ToSlash(t.TempDir())}).String()
	if set != nil {
		set(stack)
	}
	p := &pair{stack: stack}
	p.servers = [2]*apptest.Server{stack.Start(t), stack.Start(t)}
	p.edge = startNginx(t, []string{p.servers[0].Addr(), p.servers[1].Addr()}, changes...)
	return p
}

// asked returns the number of requests to a route that both servers have answered.
func (p *pair) asked(t *testing.T, route string) int {
	t.Helper()
	n := 0.0
	for _, s := range p.servers {
		n += s.Counter(t, "tandian_http_request_seconds", "route", route)
	}
	return int(n)
}

// stop ends both servers.
func (p *pair) stop(t *testing.T) {
	t.Helper()
	for _, s := range p.servers {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
