package livebench

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// subscribers receive items for the tests.
type subscribers struct {
	path string
	conn chan net.Conn
}

func listen(t *testing.T) *subscribers {
	t.Helper()
	s := &subscribers{filepath.Join(t.TempDir(), "s"), make(chan net.Conn, 1)}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if conn, err := listener.Accept(); err == nil {
			s.conn <- conn
		}
	}()
	return s
}

func TestItemsInFlightAreLimited(t *testing.T) {
	s := listen(t)
	published := make(chan string, 16)
	ended := make(chan int64, 1)
	go func() {
		next, err := Publishing{First: 7, InFlight: 2, For: time.Minute, Content: 6, Received: s.path}.run(t.Context(), func(_ context.Context, title, content string) error {
			if content != "茶茶" {
				t.Errorf("the content is %q", content)
			}
			published <- title
			return nil
		})
		if !errors.Is(err, io.EOF) {
			t.Errorf("it ended with %v", err)
		}
		ended <- next
	}()
	conn := <-s.conn
	first := []string{<-published, <-published}
	slices.Sort(first)
	for i, want := range []string{"bench 7 ", "bench 8 "} {
		if !strings.HasPrefix(first[i], want) {
			t.Errorf("%q, want %q", first[i], want)
		}
	}
	for n := range int64(3) { // each one that is received makes room for one
		select {
		case title := <-published:
			t.Fatalf("%q is published before there is room", title)
		default:
		}
		if _, err := conn.Write(binary.LittleEndian.AppendUint64(nil, uint64(8+n))); err != nil {
			t.Fatal(err)
		}
		<-published
	}
	_ = conn.Close()
	if next := <-ended; next != 12 {
		t.Errorf("the next one is %d, want 12", next)
	}
}

func TestItemsArePublishedAtAPace(t *testing.T) {
	s := listen(t)
	var n atomic.Int64
	next, err := Publishing{First: 1, Every: 10 * time.Millisecond, For: 45 * time.Millisecond, Received: s.path}.run(t.Context(), func(context.Context, string, string) error {
		n.Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := n.Load(); n < 1 || n > 5 || next != n+1 {
		t.Errorf("%d items, the next is %d", n, next)
	}
	_ = (<-s.conn).Close()
}
