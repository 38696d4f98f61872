// Package clientaddr determines the address of an HTTP client behind trusted
// proxies, and the network that limits count it by.
package clientaddr

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Bounds of what a header can make us do.
const (
	maxHops   = 32 // addresses of X-Forwarded-For that are looked at
	maxHopLen = 64 // bytes of one of them
)

// Proxies are the networks whose X-Forwarded-For header is believed. The zero
// value believes nobody. It may be used by any number of goroutines.
type Proxies []netip.Prefix

// ParseProxies reads networks ("10.0.0.0/8") and single addresses ("::1"). A
// network of all addresses is refused: with it, every client could choose its
// own address.
func ParseProxies(list []string) (Proxies, error) {
	proxies := make(Proxies, 0, len(list))
	for _, s := range list {
		p, err := parseNetwork(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("%.64q: %w", s, err)
		}
		proxies = append(proxies, p)
	}
	return proxies, nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = plain(a)
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, errors.New("neither a network like 10.0.0.0/8 nor an address")
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p.Bits() == 0 {
		return netip.Prefix{}, errors.New("a network of all addresses lets clients choose theirs")
	}
	return p.Masked(), nil
}

// ClientAddr returns the address of the client that sent r: the peer of the
// connection, unless that is a trusted proxy. Then it is the rightmost address
// of X-Forwarded-For that is not a trusted proxy too; what stands left of it
// was written by the client and is not looked at. Where the header ends early,
// or holds something that is no address, it is the last proxy before that. It
// looks at 32 addresses of the header at most.
//
// The address has no zone, and IPv4 is never written as IPv6. It is the zero
// Addr if the connection's own address cannot be read.
func (p Proxies) ClientAddr(r *http.Request) netip.Addr {
	client, ok := parseHop(r.RemoteAddr)
	if !ok {
		return netip.Addr{}
	}
	hops := 0
	for _, line := range slices.Backward(r.Header.Values("X-Forwarded-For")) {
		for more := true; more; hops++ {
			if hops == maxHops || !p.Contains(client) {
				return client
			}
			var hop string
			if i := strings.LastIndexByte(line, ','); i < 0 {
				hop, more = line, false
			} else {
				line, hop = line[:i], line[i+1:]
			}
			addr, ok := parseHop(hop)
			if !ok {
				return client
			}
			client = addr
		}
	}
	return client
}

// HTTPS reports whether a client sent r by https: to this server, or to a trusted proxy
// that says so in X-Forwarded-Proto.
func (p Proxies) HTTPS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return p.Trusts(r) && strings.EqualFold(strings.TrimSpace(first), "https")
}

// Trusts reports whether the peer that sent r is a trusted proxy.
func (p Proxies) Trusts(r *http.Request) bool {
	peer, ok := parseHop(r.RemoteAddr)
	return ok && p.Contains(peer)
}

// Contains reports whether the networks contain a, which may be an IPv4 address
// written as IPv6.
func (p Proxies) Contains(a netip.Addr) bool {
	a = plain(a)
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// parseHop reads an address with or without a port: "192.0.2.1",
// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80".
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxHopLen {
		return netip.Addr{}, false
	}
	// Only these can have a port, and what has none would be an error to read as if it had.
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		if ap, err := netip.ParseAddrPort(s); err == nil {
			return plain(ap.Addr()), true
		}
	}
	inner, bracketed := strings.CutPrefix(s, "[")
	if bracketed {
		if inner, bracketed = strings.CutSuffix(inner, "]"); !bracketed {
			return netip.Addr{}, false
		}
	}
	a, err := netip.ParseAddr(inner)
	if err != nil || bracketed && a.Is4() {
		return netip.Addr{}, false
	}
	return plain(a), true
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// Network returns the block of addresses that limits count as one client: a
// single IPv4 address, or the /64 that one IPv6 subscriber has at least. The
// zero Addr is in the zero Prefix.
func Network(a netip.Addr) netip.Prefix {
	a = plain(a)
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
