//go:build linux && !race

package gqlserver

import (
	"net/http/httptest"
	"syscall"
	"testing"
)

// The race detector changes memory use, so this test runs without it.

func TestIdleSocketIsSmall(t *testing.T) {
	const (
		clients = 1000
		limit   = 11 * kb // of heap and stack; BenchmarkIdleSocket reports exact values
	)
	s := newWSTestServer(t, quietConfig(Limits{SocketsPerAddress: -1, AnonymousRate: -1}))
	server := httptest.NewServer(s.server)
	t.Cleanup(func() {
		s.close(t)
		server.Close()
	})
	before := footprintNow(t)
	fds := openIdleSockets(t, s, server.Listener.Addr(), clients)
	each := footprintNow(t).each(before, clients)
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
	if each.heap+each.stack > limit {
		t.Errorf("got %.0f bytes of heap and %.0f of stack per socket, want at most %d in total", each.heap, each.stack, limit)
	}
	if each.goroutines > 1.05 {
		t.Errorf("got %.2f goroutines per socket, want at most 1.05", each.goroutines)
	}
}
