package clientaddr

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClientAddrIsTheLastUntrustedHop(t *testing.T) {
	proxies := []string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"}
	tests := []struct {
		name    string
		remote  string
		forward []string // lines of X-Forwarded-For
		want    string   // "" for the zero Addr
	}{
		{"no proxy", "198.51.100.1:4000", nil, "198.51.100.1"},
		{"header of an untrusted peer", "198.51.100.1:4000", []string{"10.0.0.1"}, "198.51.100.1"},
		{"one proxy", "10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a single trusted address", "192.0.2.7:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"neighbour of a trusted address", "192.0.2.8:80", []string{"198.51.100.1"}, "192.0.2.8"},
		{"forged address", "10.0.0.1:80", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1"},
		{"forged proxy address", "10.0.0.1:80", []string{"10.9.9.9, 198.51.100.1"}, "198.51.100.1"},
		{"forged line", "10.0.0.1:80", []string{"1.2.3.4", "198.51.100.1"}, "198.51.100.1"},
		{"invalid hops from the client", "10.0.0.1:80", []string{"rubbish, ,,198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:80", []string{"1.2.3.4, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"two proxies on separate lines", "10.0.0.1:80", []string{"1.2.3.4,198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"only proxies", "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"proxy without header", "10.0.0.1:80", nil, "10.0.0.1"},
		{"proxy with empty header", "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"invalid hop from a proxy", "10.0.0.1:80", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"invalid hop behind two proxies", "10.0.0.1:80", []string{"198.51.100.1, _hidden, 10.0.0.2"}, "10.0.0.2"},
		{"empty hop", "10.0.0.1:80", []string{"198.51.100.1,,10.0.0.2"}, "10.0.0.2"},
		{"trailing comma", "10.0.0.1:80", []string{"198.51.100.1,"}, "10.0.0.1"},
		{"hop of a megabyte", "[fd00::1]:80", []string{"fe80::1%" + strings.Repeat("a", 1<<20)}, "fd00::1"},
		{"hop with port", "10.0.0.1:80", []string{"198.51.100.1:5000"}, "198.51.100.1"},
		{"hop with empty port", "10.0.0.1:80", []string{"198.51.100.1:"}, "10.0.0.1"},
		{"spaces and tabs", "10.0.0.1:80", []string{"\t198.51.100.1 ,\t10.0.0.2 "}, "198.51.100.1"},

		{"IPv6", "[2001:db8::1]:4000", nil, "2001:db8::1"},
		{"IPv6 behind a proxy", "[fd00::1]:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{"IPv6 in brackets", "[fd00::1]:80", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"IPv6 with a port", "[fd00::1]:80", []string{"[2001:db8::1]:5000"}, "2001:db8::1"},
		{"IPv6 without closing bracket", "[fd00::1]:80", []string{"[2001:db8::1"}, "fd00::1"},
		{"IPv4 in brackets", "10.0.0.1:80", []string{"[198.51.100.1]"}, "10.0.0.1"},
		{"zone", "[fe80::1%eth0]:4000", nil, "fe80::1"},
		{"hop with zone", "[fd00::1%eth0]:80", []string{"fe80::1%25en0"}, "fe80::1"},
		{"IPv4 as IPv6", "[::ffff:198.51.100.1]:4000", nil, "198.51.100.1"},
		{"proxy with IPv4 as IPv6", "[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},

		{"no address", "", []string{"198.51.100.1"}, ""},
		{"unix socket", "@", []string{"198.51.100.1"}, ""},
		{"host name", "localhost:80", nil, ""},
	}
	p, err := ParseProxies(proxies)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := p.ClientAddr(&http.Request{RemoteAddr: tt.remote, Header: http.Header{"X-Forwarded-For": tt.forward}})
			want := netip.Addr{}
			if tt.want != "" {
				want = netip.MustParseAddr(tt.want)
			}
			if got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestClientAddrReadsAtMost32Hops(t *testing.T) {
	p, err := ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	// hops is a header of n proxies, the farthest of them 10.0.1.0, and a client.
	hops := func(n int) string {
		return "198.51.100.1, 10.0.1.0" + strings.Repeat(", 10.0.0.2", n-1)
	}
	tests := []struct {
		name   string
		header []string
		want   string
	}{
		{"the client is the 32nd", []string{hops(31)}, "198.51.100.1"},
		{"the client is the 33rd", []string{hops(32)}, "10.0.1.0"},
		{"the client is the 34th", []string{hops(33)}, "10.0.0.2"},
		{"the client is the 33rd, over two lines", []string{hops(16), "10.0.0.2" + strings.Repeat(",10.0.0.2", 15)}, "10.0.1.0"},
		{"a million hops", []string{hops(1_000_000)}, "10.0.0.2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := p.ClientAddr(&http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{"X-Forwarded-For": tt.header}})
			if got != netip.MustParseAddr(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestHeadersAreIgnoredWithoutTrustedProxies(t *testing.T) {
	r := &http.Request{RemoteAddr: "127.0.0.1:80", Header: http.Header{"X-Forwarded-For": {"198.51.100.1"}}}
	if got := Proxies(nil).ClientAddr(r); got != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("got %v, want 127.0.0.1", got)
	}
}

func TestParseProxiesAcceptsNetworksAndAddresses(t *testing.T) {
	tests := []struct {
		name string
		list []string
		want []string // nil for an error
	}{
		{"none", nil, []string{}},
		{"networks", []string{"10.0.0.0/8", "fd00::/8"}, []string{"10.0.0.0/8", "fd00::/8"}},
		{"addresses", []string{"127.0.0.1", "::1"}, []string{"127.0.0.1/32", "::1/128"}},
		{"address with zone", []string{"fe80::1%eth0"}, []string{"fe80::1/128"}},
		{"network with host bits", []string{"10.1.2.3/8"}, []string{"10.0.0.0/8"}},
		{"spaces", []string{" 10.0.0.0/8 "}, []string{"10.0.0.0/8"}},
		{"IPv4 as IPv6", []string{"::ffff:10.0.0.1", "::ffff:10.0.0.0/104"}, []string{"10.0.0.1/32", "10.0.0.0/8"}},
		{"all of IPv4", []string{"0.0.0.0/0"}, nil},
		{"all of IPv4 as IPv6", []string{"::ffff:0.0.0.0/96"}, nil},
		{"all of IPv6", []string{"::/0"}, nil},
		{"empty entry", []string{"10.0.0.0/8", ""}, nil},
		{"host name", []string{"proxy.example.com"}, nil},
		{"too many bits", []string{"10.0.0.0/33"}, nil},
		{"port", []string{"10.0.0.1:80"}, nil},
		{"two in one entry", []string{"10.0.0.1,10.0.0.2"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProxies(tt.list)
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("got %v, error %v; want %v", got, err, tt.want)
			}
			var texts []string
			if err == nil {
				texts = make([]string, len(got))
				for i, p := range got {
					texts[i] = p.String()
				}
			}
			if d := cmp.Diff(tt.want, texts); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestNetworkIsIPv4AddressOrIPv6Slash64(t *testing.T) {
	tests := []struct {
		name string
		addr netip.Addr
		want string
	}{
		{"IPv4", netip.MustParseAddr("198.51.100.77"), "198.51.100.77/32"},
		{"IPv4 as IPv6", netip.MustParseAddr("::ffff:198.51.100.77"), "198.51.100.77/32"},
		{"IPv6", netip.MustParseAddr("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64"},
		{"IPv6 with a zone", netip.MustParseAddr("fe80::1%eth0"), "fe80::/64"},
		{"none", netip.Addr{}, "invalid Prefix"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Network(tt.addr).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func FuzzClientAddr(f *testing.F) {
	f.Add("10.0.0.1:80", "1.2.3.4, 198.51.100.1")
	f.Add("[fd00::1%eth0]:80", "[2001:db8::1]:5, ::ffff:10.0.0.1,")
	p, err := ParseProxies([]string{"10.0.0.0/8", "fd00::/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, remote, header string) {
		r := &http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {header}}}
		got := p.ClientAddr(r)
		if got.Zone() != "" || got.Is4In6() {
			t.Errorf("got %v, want no zone and no IPv4-mapped IPv6", got)
		}
		// Hops to the left of the client's own address must not matter.
		r.Header.Set("X-Forwarded-For", header+", 198.51.100.1")
		want := p.ClientAddr(r)
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		if alone := p.ClientAddr(r); alone != want {
			t.Errorf("header %q: got %v, want %v", header, want, alone)
		}
	})
}

func proxiesOf(t *testing.T, list ...string) Proxies {
	t.Helper()
	p, err := ParseProxies(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestForwardedProtoIsTrustedFromProxiesOnly(t *testing.T) {
	tests := []struct {
		name, peer, proto string
		tls, want         bool
	}{
		{"plain", "203.0.113.9:80", "", false, false},
		{"TLS", "203.0.113.9:80", "", true, true},
		{"https from a client", "203.0.113.9:80", "https", false, false},
		{"https from a proxy", "192.0.2.1:80", "HTTPS", false, true},
		{"https from the first proxy", "192.0.2.1:80", "https, http", false, true},
		{"http from a proxy", "192.0.2.1:80", "http", false, false},
		{"proxy without header", "192.0.2.1:80", "", false, false},
		{"unknown peer", "@", "https", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/visit", nil)
			r.RemoteAddr = tt.peer
			r.Header.Set("X-Forwarded-Proto", tt.proto)
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			if got := proxiesOf(t, "192.0.2.0/24").HTTPS(r); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
