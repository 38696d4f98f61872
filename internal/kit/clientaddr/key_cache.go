package clientaddr

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// KeyCache caches the rate limit keys of recent client networks. A network replaces
// another with the same hash. The zero value is an empty cache. It is safe for
// concurrent use.
type KeyCache struct {
	slots [1 << networkBits]atomic.Pointer[keyedNetwork] // by hash of the network
}

const networkBits = 10

type keyedNetwork struct {
	network netip.Prefix
	key     string
}

const unknownNetwork = "a:unknown" // key of the zero Addr

// Key returns the rate limit key of an address: "a:NETWORK".
func (n *KeyCache) Key(addr netip.Addr) string {
	network := Network(addr)
	if !network.IsValid() {
		return unknownNetwork
	}
	bytes := network.Addr().As16()
	const golden = 0x9E3779B97F4A7C15 // spreads neighbors, which differ in a few bits
	hash := (binary.BigEndian.Uint64(bytes[:8])*golden ^ binary.BigEndian.Uint64(bytes[8:])) * golden
	slot := &n.slots[hash>>(64-networkBits)]
	if cached := slot.Load(); cached != nil && cached.network == network {
		return cached.key
	}
	entry := &keyedNetwork{network, "a:" + network.String()}
	slot.Store(entry)
	return entry.key
}
