package clientaddr

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

// KeyCache remember how limits name the networks that requests came from lately: the
// same ones, nearly always. They forget each other where there are too many, and are
// safe for concurrent use.
type KeyCache struct {
	slots [1 << networkBits]atomic.Pointer[keyedNetwork] // by address
}

const networkBits = 10

type keyedNetwork struct {
	of  netip.Prefix
	key string
}

const unknownNetwork = "a:unknown" // of the zero Addr

// Key is the network of an address as a key: "a:NETWORK".
func (n *KeyCache) Key(addr netip.Addr) string {
	of := Network(addr)
	if !of.IsValid() {
		return unknownNetwork
	}
	bytes := of.Addr().As16()
	const golden = 0x9E3779B97F4A7C15 // spreads what differs in a few bits, as neighbors do
	mixed := (binary.BigEndian.Uint64(bytes[:8])*golden ^ binary.BigEndian.Uint64(bytes[8:])) * golden
	slot := &n.slots[mixed>>(64-networkBits)]
	if known := slot.Load(); known != nil && known.of == of {
		return known.key
	}
	named := &keyedNetwork{of, "a:" + of.String()}
	slot.Store(named)
	return named.key
}
