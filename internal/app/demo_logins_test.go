package app_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

type demoLogin struct{ Role, Phone, Password, Nickname string }

// offeredLogins requests the demo logins with a host, by default the address of the server,
// and with pairs of headers.
func offeredLogins(t *testing.T, s *apptest.Server, host string, header ...string) []demoLogin {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/demo/logins", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ Logins []demoLogin }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	if answer.Logins == nil {
		t.Error("got null, want an empty list")
	}
	want := [...]string{"application/json", "no-store", "nosniff"}
	h := res.Header
	if got := [...]string{h.Get("Content-Type"), h.Get("Cache-Control"), h.Get("X-Content-Type-Options")}; got != want || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got header %v", h)
	}
	return answer.Logins
}

func TestDemoLoginsOpenTheirAccounts(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	var roles []string
	for _, l := range offeredLogins(t, s, "") {
		token, _ := s.LoginWith(t, map[string]any{"phone": l.Phone, "password": l.Password})
		var got struct{ Me demoLogin }
		s.As(token).Must(t, `{ me { role nickname } }`, nil, &got)
		if got.Me.Role != l.Role || got.Me.Nickname != l.Nickname {
			t.Errorf("login of %s: got %+v", l.Nickname, got.Me)
		}
		roles = append(roles, l.Role)
	}
	if d := gocmp.Diff([]string{"CUSTOMER", "MERCHANT", "ADMIN"}, roles); d != "" {
		t.Errorf("roles (-want +got)\n%s", d)
	}
}

func TestDemoLoginsAreServedLocally(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	tests := []struct {
		name, host string
		header     []string
		want       int
	}{
		{"a program", "", nil, 3},
		{"by name", "localhost:8080", nil, 3},
		{"by name, in capitals and without a port", "LOCALHOST", nil, 3},
		{"by IPv6", "[::1]:8080", nil, 3},
		{"by IPv6, without a port", "[::1]", nil, 3},
		{"own page", "localhost:8080", []string{"Sec-Fetch-Site", "same-origin"}, 3},
		{"a typed address", "localhost:8080", []string{"Sec-Fetch-Site", "none"}, 3},
		{"a page of another site", "localhost:8080", []string{"Sec-Fetch-Site", "cross-site"}, 0},
		{"a page of another port", "localhost:8080", []string{"Sec-Fetch-Site", "same-site"}, 0},
		{"a rebound name", "rebound.example:8080", []string{"Sec-Fetch-Site", "same-origin"}, 0},
		{"a name with a local prefix", "localhost.example:8080", nil, 0},
		{"a subdomain of localhost", "shop.localhost", nil, 0},
		{"another address", "127.0.0.2:8080", nil, 0},
		{"an address of the network", "192.168.1.5:8080", nil, 0},
		{"a proxy with the client address", "localhost:8080", []string{"X-Forwarded-For", "203.0.113.7"}, 0},
		{"a proxy without the client address", "localhost:8080", []string{"X-Forwarded-Proto", "https"}, 0},
		{"a proxy with the standard header", "localhost:8080", []string{"Forwarded", "for=203.0.113.7"}, 0},
		{"a proxy with its own header", "localhost:8080", []string{"X-Real-IP", "127.0.0.1"}, 0},
		{"a proxy that names itself", "localhost:8080", []string{"Via", "1.1 tunnel"}, 0},
		{"own page, same host", "localhost:8080", []string{"Referer", "http://localhost:8080/signin", "Origin", "http://localhost:8080"}, 3},
		{"own page, another name", "127.0.0.1:8080", []string{"Referer", "http://localhost:8080/signin"}, 0},
		{"a proxied page", "127.0.0.1:8080", []string{"Referer", "https://demo.example/signin"}, 0},
		{"the origin of a proxied page", "127.0.0.1:8080", []string{"Origin", "https://demo.example"}, 0},
		{"a referer with another port", "localhost:8080", []string{"Referer", "http://localhost:3000/"}, 0},
		{"own page and another", "localhost:8080", []string{"Referer", "http://localhost:8080/", "Referer", "https://demo.example/"}, 0},
		{"an opaque origin", "localhost:8080", []string{"Origin", "null"}, 0},
		{"an invalid referer", "localhost:8080", []string{"Referer", "%"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := len(offeredLogins(t, s, tt.host, tt.header...)); got != tt.want {
				t.Errorf("%d logins, want %d", got, tt.want)
			}
		})
	}
}

// The request that nginx sends with only `proxy_pass http://127.0.0.1:8080`: HTTP/1.0, the
// upstream address as the host, and the headers of the browser.
func TestMinimalProxyGetsNoDemoLogins(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	for _, tt := range []struct {
		name, request string
		want          int
	}{
		{"HTTP/1.0", "GET /demo/logins HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n", 0},
		{"a proxied page", "GET /demo/logins HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\nReferer: https://demo.example/signin\r\n\r\n", 0},
		{"a browser", "GET /demo/logins HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\nReferer: http://127.0.0.1:8080/signin\r\n\r\n", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, tt.request); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			var answer struct{ Logins []demoLogin }
			if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || len(answer.Logins) != tt.want {
				t.Errorf("%d logins, %v, want %d", len(answer.Logins), err, tt.want)
			}
		})
	}
}

func TestPublicListenerServesNoDemoLogins(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]int{":0": 0, "0.0.0.0:0": 0, "localhost:0": 3} {
		t.Run(addr, func(t *testing.T) {
			stack := apptest.Embedded(t)
			stack.Config.Addr = addr
			s := stack.Start(t)
			_, port, err := net.SplitHostPort(s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			s.URL = "http://localhost:" + port
			if got := len(offeredLogins(t, s, "")); got != want {
				t.Errorf("%d logins, want %d", got, want)
			}
			if !strings.Contains(s.Out.String(), "Demo logins, valid until the next start:") {
				t.Errorf("the terminal does not show the logins:\n%s", s.Out)
			}
		})
	}
}

func TestRealStoresOfferNoDemoLogins(t *testing.T) {
	stack := apptest.Real(t)
	stack.Config.RedisURL = "" // one real store is enough
	if got := offeredLogins(t, stack.Start(t), ""); len(got) != 0 {
		t.Errorf("%d logins", len(got))
	}
}

func TestStartPrintsAddresses(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	for _, line := range []string{"  app         " + s.URL + "/\n", "  playground  " + s.URL + "/playground\n", "  API         " + s.URL + "/graphql\n"} {
		if !strings.Contains(s.Out.String(), line) {
			t.Errorf("the terminal does not show %q:\n%s", line, s.Out)
		}
	}
}
