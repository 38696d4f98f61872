//go:build linux && !race

package gqlserver

import (
	"net/http/httptest"
	"syscall"
	"testing"
)

// The race detector has its own idea of memory, so this is for builds without it.

func TestAnIdleSocketIsSmall(t *testing.T) {
	const (
		clients = 1000
		limit   = 11 * kb // of heap and stack; BenchmarkIdleSocket has the exact figures
	)
	s := newSocketSite(t, quiet(Limits{SocketsPerAddress: -1, AnonymousRate: -1}))
	server := httptest.NewServer(s.server)
	t.Cleanup(func() {
		s.close(t)
		server.Close()
	})
	before := footprintNow(t)
	fds := openIdle(t, s, server.Listener.Addr(), clients)
	each := footprintNow(t).each(before, clients)
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
	if each.heap+each.stack > limit {
		t.Errorf("a socket has %.0f bytes of heap and %.0f of stack, want no more than %d together", each.heap, each.stack, limit)
	}
	if each.goroutines > 1.05 {
		t.Errorf("%.2f goroutines a socket", each.goroutines)
	}
}
