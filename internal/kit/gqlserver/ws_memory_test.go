//go:build linux

package gqlserver

import (
	"bytes"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// BenchmarkIdleSocket reports the cost of an idle socket that ran a subscription and a query:
// bytes of the process, of the heap and of stacks, and goroutines. The clients are bare file
// descriptors.
func BenchmarkIdleSocket(b *testing.B) {
	const clients = 5000
	for b.Loop() {
		s := newWSTestServer(b, quietConfig(Limits{SocketsPerAddress: -1, AnonymousRate: -1}))
		server := httptest.NewServer(s.server)
		before := footprintNow(b)
		fds := openIdleSockets(b, s, server.Listener.Addr(), clients)
		each := footprintNow(b).each(before, clients)
		b.ReportMetric(each.process, "RSS-B/socket")
		b.ReportMetric(each.heap, "heap-B/socket")
		b.ReportMetric(each.stack, "stack-B/socket")
		b.ReportMetric(each.goroutines, "goroutines/socket")
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
		s.close(b)
		server.Close()
	}
}

// A footprint counts bytes of the process, of its heap and of its stacks, and goroutines.
type footprint struct{ process, heap, stack, goroutines float64 }

// footprintNow returns the footprint after garbage collection.
func footprintNow(tb testing.TB) footprint {
	tb.Helper()
	runtime.GC() // FreeOSMemory collects again, which empties pools
	debug.FreeOSMemory()
	var size, resident float64 // pages
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		tb.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{resident * float64(os.Getpagesize()), float64(m.HeapAlloc), float64(m.StackInuse), float64(runtime.NumGoroutine())}
}

// each returns the difference divided by n.
func (f footprint) each(before footprint, n float64) footprint {
	return footprint{(f.process - before.process) / n, (f.heap - before.heap) / n, (f.stack - before.stack) / n, (f.goroutines - before.goroutines) / n}
}

// openIdleSockets opens n sockets, runs operations on each and returns their file descriptors.
func openIdleSockets(tb testing.TB, s *wsTestServer, server net.Addr, n int) (fds []int) {
	tb.Helper()
	addr, err := netip.ParseAddrPort(server.String())
	if err != nil {
		tb.Fatal(err)
	}
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	masked := func(text string) []byte {
		head := appendHeader(nil, textFrame, len(text))
		head[1] |= 0x80
		return append(append(head, 0, 0, 0, 0), text...)
	}
	first := append(masked(initMessage), masked(`{"type":"subscribe","id":"9c3f8b1e-3c5b-4c5e-9f57-3f1d1e1f2a3b","payload":{"query":"subscription { ticks { number text } }"}}`)...)
	first = append(append(first, masked(`{"type":"subscribe","id":"q","payload":{"query":"{ hello }"}}`)...), masked(`{"type":"complete","id":"9c3f8b1e-3c5b-4c5e-9f57-3f1d1e1f2a3b"}`)...)
	last := []byte(`{"type":"complete","id":"q"}`)
	buf := make([]byte, 4096)
	for range n {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		must(err)
		fds = append(fds, fd)
		must(syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}))
		_, err = syscall.Write(fd, []byte(handshakeRequest(addr.String())))
		must(err)
		read := 0
		readUntil := func(text []byte) {
			for read = 0; !bytes.Contains(buf[:read], text); {
				n, err := syscall.Read(fd, buf[read:])
				must(err)
				if n == 0 {
					tb.Fatalf("closed after %q", buf[:read])
				}
				read += n
			}
		}
		readUntil([]byte("\r\n\r\n"))
		_, err = syscall.Write(fd, first)
		must(err)
		readUntil(last)
	}
	eventually(tb, "no operation runs", func() bool {
		return testutil.ToFloat64(s.server.sockets.metrics.operations) == 0 && s.Subscriptions() == 0
	})
	return fds
}
