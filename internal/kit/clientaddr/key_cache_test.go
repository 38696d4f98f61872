package clientaddr

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

func TestKeyIsCachedPerNetwork(t *testing.T) {
	n := &KeyCache{}
	for range 2 {
		for addr, want := range map[string]string{
			"192.0.2.1": "a:192.0.2.1/32", "192.0.2.2": "a:192.0.2.2/32", "::ffff:192.0.2.1": "a:192.0.2.1/32", "::c000:201": "a:::/64",
			"2001:db8::1": "a:2001:db8::/64", "2001:db8::2": "a:2001:db8::/64", "2001:db8:0:1::1": "a:2001:db8:0:1::/64", "fe80::1%eth0": "a:fe80::/64",
		} {
			if got := n.Key(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s: got %s, want %s", addr, got, want)
			}
		}
	}
	if got := n.Key(netip.Addr{}); got != unknownNetwork {
		t.Errorf("zero address: got %s, want %s", got, unknownNetwork)
	}
	addr := netip.MustParseAddr("2001:db8::1")
	if allocated := testing.AllocsPerRun(10, func() { n.Key(addr) }); allocated > 0 {
		t.Errorf("got %v allocations for a cached network, want 0", allocated)
	}
}

func TestNeighborsUseDifferentSlots(t *testing.T) {
	n := &KeyCache{}
	for i := range uint32(200) {
		n.Key(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 10<<24+i))))
	}
	taken := 0
	for i := range n.slots {
		if n.slots[i].Load() != nil {
			taken++
		}
	}
	if taken < 150 {
		t.Errorf("got %d slots for 200 neighbors, want at least 150", taken)
	}
}
