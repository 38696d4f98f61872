// Package clientaddr determines the address of an HTTP client behind trusted
// proxies, and the network that rate limits count it by.
package clientaddr

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Limits of the work that one header causes.
const (
	maxHops   = 32 // addresses of X-Forwarded-For
	maxHopLen = 64 // bytes per address
)

// Proxies holds the networks of proxies whose X-Forwarded headers are trusted. The
// zero value trusts no proxy. It is safe for concurrent use.
type Proxies []netip.Prefix

// ParseProxies parses networks ("10.0.0.0/8") and single addresses ("::1"). It
// rejects a network of all addresses, as clients could then fake their address.
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
		a = normalize(a)
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
		return netip.Prefix{}, errors.New("network must not contain all addresses")
	}
	return p.Masked(), nil
}

// ClientAddr returns the address of the client that sent r. That is the peer of
// the connection, unless the peer is a trusted proxy.
//
// Behind trusted proxies, it is the rightmost untrusted address of
// X-Forwarded-For. The client may have written everything to the left of that.
// If the header ends early or has an invalid address, the last proxy before that
// position is returned. ClientAddr reads at most 32 addresses of the header.
//
// The address has no zone and is never IPv4-mapped IPv6. It is the zero Addr if
// r.RemoteAddr is invalid.
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

// HTTPS reports whether the client sent r over https, to this server or to a
// trusted proxy that reports it in X-Forwarded-Proto.
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

// Contains reports whether the networks contain a. It accepts IPv4-mapped IPv6
// addresses.
func (p Proxies) Contains(a netip.Addr) bool {
	a = normalize(a)
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// parseHop parses an address with or without a port: "192.0.2.1",
// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80".
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxHopLen {
		return netip.Addr{}, false
	}
	// Only these forms can have a port. ParseAddrPort fails for all others.
	if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		if ap, err := netip.ParseAddrPort(s); err == nil {
			return normalize(ap.Addr()), true
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
	return normalize(a), true
}

func normalize(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// Network returns the block of addresses that rate limits count as one client. It is
// one IPv4 address, or an IPv6 /64, the smallest block that a subscriber gets. For the
// zero Addr it is the zero Prefix.
func Network(a netip.Addr) netip.Prefix {
	a = normalize(a)
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
