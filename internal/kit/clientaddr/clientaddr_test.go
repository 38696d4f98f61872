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

func TestClientAddrIsTheLastHopThatNoProxyOfOursWrote(t *testing.T) {
	proxies := []string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"}
	tests := []struct {
		name    string
		remote  string
		forward []string // lines of X-Forwarded-For
		want    string   // "" for the zero Addr
	}{
		{"no proxy", "198.51.100.1:4000", nil, "198.51.100.1"},
		{"a client that is no proxy writes the header", "198.51.100.1:4000", []string{"10.0.0.1"}, "198.51.100.1"},
		{"one proxy", "10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a single trusted address", "192.0.2.7:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"its neighbour is not trusted", "192.0.2.8:80", []string{"198.51.100.1"}, "192.0.2.8"},
		{"a client chooses an address", "10.0.0.1:80", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1"},
		{"a client chooses a proxy's address", "10.0.0.1:80", []string{"10.9.9.9, 198.51.100.1"}, "198.51.100.1"},
		{"a client chooses in a line of its own", "10.0.0.1:80", []string{"1.2.3.4", "198.51.100.1"}, "198.51.100.1"},
		{"a client writes rubbish", "10.0.0.1:80", []string{"rubbish, ,,198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:80", []string{"1.2.3.4, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"two proxies with a line each", "10.0.0.1:80", []string{"1.2.3.4,198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"proxies alone", "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"a proxy that wrote nothing", "10.0.0.1:80", nil, "10.0.0.1"},
		{"a proxy that wrote an empty line", "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"rubbish from a proxy", "10.0.0.1:80", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"rubbish behind a second proxy", "10.0.0.1:80", []string{"198.51.100.1, _hidden, 10.0.0.2"}, "10.0.0.2"},
		{"an empty hop", "10.0.0.1:80", []string{"198.51.100.1,,10.0.0.2"}, "10.0.0.2"},
		{"a comma at the end", "10.0.0.1:80", []string{"198.51.100.1,"}, "10.0.0.1"},
		{"a hop of a megabyte", "[fd00::1]:80", []string{"fe80::1%" + strings.Repeat("a", 1<<20)}, "fd00::1"},
		{"a hop with a port", "10.0.0.1:80", []string{"198.51.100.1:5000"}, "198.51.100.1"},
		{"a hop with half a port", "10.0.0.1:80", []string{"198.51.100.1:"}, "10.0.0.1"},
		{"spaces and tabs", "10.0.0.1:80", []string{"\t198.51.100.1 ,\t10.0.0.2 "}, "198.51.100.1"},

		{"IPv6", "[2001:db8::1]:4000", nil, "2001:db8::1"},
		{"IPv6 behind a proxy", "[fd00::1]:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{"IPv6 in brackets", "[fd00::1]:80", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"IPv6 with a port", "[fd00::1]:80", []string{"[2001:db8::1]:5000"}, "2001:db8::1"},
		{"IPv6 with half the brackets", "[fd00::1]:80", []string{"[2001:db8::1"}, "fd00::1"},
		{"IPv4 in brackets", "10.0.0.1:80", []string{"[198.51.100.1]"}, "10.0.0.1"},
		{"a zone", "[fe80::1%eth0]:4000", nil, "fe80::1"},
		{"a zone in a hop", "[fd00::1%eth0]:80", []string{"fe80::1%25en0"}, "fe80::1"},
		{"IPv4 as IPv6", "[::ffff:198.51.100.1]:4000", nil, "198.51.100.1"},
		{"a proxy's IPv4 as IPv6", "[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},

		{"no address at all", "", []string{"198.51.100.1"}, ""},
		{"a Unix socket", "@", []string{"198.51.100.1"}, ""},
		{"a name", "localhost:80", nil, ""},
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

func TestClientAddrEndsAfterThirtyTwoHops(t *testing.T) {
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
		{"a million", []string{hops(1_000_000)}, "10.0.0.2"},
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

func TestWithoutProxiesNoHeaderIsBelieved(t *testing.T) {
	r := &http.Request{RemoteAddr: "127.0.0.1:80", Header: http.Header{"X-Forwarded-For": {"198.51.100.1"}}}
	if got := Proxies(nil).ClientAddr(r); got != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("got %v", got)
	}
}

func TestParseProxiesReadsNetworksAndAddresses(t *testing.T) {
	tests := []struct {
		name string
		list []string
		want []string // nil for an error
	}{
		{"none", nil, []string{}},
		{"networks", []string{"10.0.0.0/8", "fd00::/8"}, []string{"10.0.0.0/8", "fd00::/8"}},
		{"addresses", []string{"127.0.0.1", "::1"}, []string{"127.0.0.1/32", "::1/128"}},
		{"an address with a zone", []string{"fe80::1%eth0"}, []string{"fe80::1/128"}},
		{"an address inside a network", []string{"10.1.2.3/8"}, []string{"10.0.0.0/8"}},
		{"spaces", []string{" 10.0.0.0/8 "}, []string{"10.0.0.0/8"}},
		{"IPv4 as IPv6", []string{"::ffff:10.0.0.1", "::ffff:10.0.0.0/104"}, []string{"10.0.0.1/32", "10.0.0.0/8"}},
		{"all of IPv4", []string{"0.0.0.0/0"}, nil},
		{"all of IPv4 as IPv6", []string{"::ffff:0.0.0.0/96"}, nil},
		{"all of IPv6", []string{"::/0"}, nil},
		{"an empty entry", []string{"10.0.0.0/8", ""}, nil},
		{"a name", []string{"proxy.example.com"}, nil},
		{"too many bits", []string{"10.0.0.0/33"}, nil},
		{"a port", []string{"10.0.0.1:80"}, nil},
		{"two in one", []string{"10.0.0.1,10.0.0.2"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProxies(tt.list)
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("got %v, %v", got, err)
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

func TestNetworkIsOneIPv4AddressOrOneIPv6Subscriber(t *testing.T) {
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
			t.Errorf("%v has a zone or is IPv4 written as IPv6", got)
		}
		// What a client writes to the left of its own address changes nothing.
		r.Header.Set("X-Forwarded-For", header+", 198.51.100.1")
		want := p.ClientAddr(r)
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		if alone := p.ClientAddr(r); alone != want {
			t.Errorf("got %v, want %v: the header %q was believed", want, alone, header)
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

func TestOnlyATrustedProxySaysThatItWasHTTPS(t *testing.T) {
	tests := []struct {
		name, peer, proto string
		tls, want         bool
	}{
		{"plain", "203.0.113.9:80", "", false, false},
		{"by TLS", "203.0.113.9:80", "", true, true},
		{"a client says so", "203.0.113.9:80", "https", false, false},
		{"our proxy says so", "192.0.2.1:80", "HTTPS", false, true},
		{"the first of our proxies says so", "192.0.2.1:80", "https, http", false, true},
		{"our proxy says http", "192.0.2.1:80", "http", false, false},
		{"our proxy says nothing", "192.0.2.1:80", "", false, false},
		{"nobody knows the peer", "@", "https", false, false},
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
				t.Errorf("https: %t", got)
			}
		})
	}
}
