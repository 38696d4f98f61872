package app

import (
	"net/http/httptest"
	"testing"
)

// It sets RemoteAddr, because real connections of a test are always local.
func TestLocalPeersAreLoopbackAddresses(t *testing.T) {
	tests := map[string]bool{
		"127.0.0.1:5000": true, "127.8.9.10:5000": true, "[::1]:5000": true, "[::ffff:127.0.0.1]:5000": true,
		"192.168.1.5:5000": false, "172.17.0.1:5000": false, "[2001:db8::1]:5000": false, "[fe80::1%eth0]:5000": false, "@": false, "": false,
	}
	for peer, want := range tests {
		r := httptest.NewRequest("GET", "http://localhost:8080/demo/logins", nil)
		r.RemoteAddr = peer
		if got := fromThisMachine(r); got != want {
			t.Errorf("%q: %v, want %v", peer, got, want)
		}
	}
}
