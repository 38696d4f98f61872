package live

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/lab/compare/redisserver"
	"github.com/tandian-dev/tandian/lab/livebench"
)

func TestMain(m *testing.M) {
	if !IsProcess() {
		goleak.VerifyTestMain(m)
		return
	}
	if err := Process(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// plan returns a plan on a Redis of its own, with this test binary as its processes.
func plan(t *testing.T) Plan {
	t.Helper()
	// The Redis of the tests need not be on PATH.
	if program := os.Getenv("TANDIAN_TEST_REDIS_SERVER"); program != "" && !strings.HasPrefix(os.Getenv("PATH"), filepath.Dir(program)) {
		t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	url, stop, err := redisserver.Start(t.Context())
	if errors.Is(err, redisserver.ErrNone) && os.Getenv("TANDIAN_REQUIRE_SERVERS") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return Plan{Redis: url, Self: os.Args[0], Rounds: 1, Each: 100 * time.Millisecond, Stall: time.Second, Progress: io.Discard}
}

func TestEachContenderDeliversAllItems(t *testing.T) {
	l, err := plan(t).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, c := range l.contenders {
		t.Run(c.name, func(t *testing.T) {
			err := l.turn(t.Context(), c, func(ctx context.Context, s *runningContender) error {
				if err := s.connect(ctx, 20, 1); err != nil {
					return err
				}
				for _, load := range []livebench.Publishing{
					{InFlight: 4, For: l.Each, Content: small},
					{InFlight: 1, For: l.Each, Content: large},
					{Every: 20 * time.Millisecond, For: l.Each, Content: small},
				} {
					from := s.next
					if err := s.publish(ctx, load); err != nil {
						return err
					}
					a, err := s.ask(ctx, crowdQuestion{Reset: true})
					if err != nil {
						return err
					}
					if published := s.next - from; published < 1 || a.Items != 20*published || a.Missed+a.Repeated > 0 {
						t.Errorf("%d items: %d deliveries, %d missed, %d repeated", published, a.Items, a.Missed, a.Repeated)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCrowdDetectsMissedAndRepeatedItems(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name             string
		first, second    []int64 // what each of two subscribers gets
		missed, repeated int64
		received         int64 // below it
	}{
		{"all in order", []int64{1, 2, 3}, []int64{1, 2, 3}, 0, 0, 4},
		{"one is behind", []int64{1, 2, 3}, []int64{1}, 0, 0, 2},
		{"one misses two, so far", []int64{1, 2, 3, 4}, []int64{1, 4}, 0, 0, 2},
		{"one misses two for good", []int64{1, 2, 3, 4}, []int64{1, 4, 70}, 67, 0, 2},
		{"twice", []int64{1, 1, 2}, []int64{1, 2}, 0, 1, 3},
		{"twice, ahead", []int64{1, 3, 3, 2}, []int64{1, 2, 3}, 0, 1, 4},
		{"at once, in another order", []int64{2, 1, 3}, []int64{1, 3, 2}, 0, 0, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &crowd{reading: 2, received: 1}
			for _, items := range [][]int64{tt.first, tt.second} {
				s := &socket{next: 1}
				for _, n := range items {
					if err := c.count(s, n, now, now.Add(time.Millisecond)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if a := c.answered; a.Missed != tt.missed || a.Repeated != tt.repeated || c.received != tt.received {
				t.Errorf("%d missed, %d repeated, received below %d; want %d, %d, %d", a.Missed, a.Repeated, c.received, tt.missed, tt.repeated, tt.received)
			}
		})
	}
}

// The test plays Tandian's author.
func TestItemsAreCommittedOnceBeforePublication(t *testing.T) {
	l, err := plan(t).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.dir = t.TempDir()
	var mu sync.Mutex // guards notes
	notes := map[string]int{}
	commits, err := livebench.ListenForCommits(t.Context(), l.commits(), func(_ context.Context, title, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		notes[title]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- commits.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := l.startCommitters(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.endCommitters()
	for _, c := range l.contenders {
		t.Run(c.name, func(t *testing.T) {
			clear(notes)
			err := l.turn(t.Context(), c, func(ctx context.Context, s *runningContender) error {
				if err := s.connect(ctx, 20, 1); err != nil {
					return err
				}
				return s.publish(ctx, livebench.Publishing{InFlight: 4, For: l.Each, Content: small})
			})
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if published := int(c.next - 1); published < 1 || len(notes) != published {
				t.Errorf("%d notes of %d items", len(notes), published)
			}
			for title, n := range notes {
				if n != 1 {
					t.Errorf("%q is committed %d times", title, n)
				}
			}
		})
	}
}

// A server that refuses ends the measurement with its message.
func TestAServerThatRefusesFailsTheRun(t *testing.T) {
	l, err := plan(t).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	c := l.contenders[0]
	err = l.turn(t.Context(), c, func(ctx context.Context, s *runningContender) error {
		s.contender = &contender{name: c.name, protocol: graphQL, next: 1} // which it does not speak
		return s.connect(ctx, 1, 1)
	})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
}

// An author may publish before the crowd has accepted its connection, and all may have that item by
// then.
func TestLateListenersGetReceivedItems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{reading: 1, received: 1}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path) // it is not accepted yet
	if err != nil {
		t.Fatal(err)
	}
	if err := c.count(&socket{next: 1}, 1, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	c.tell()
	ended := make(chan struct{})
	go func() {
		c.accept(listener)
		close(ended)
	}()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var b [8]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil || binary.LittleEndian.Uint64(b[:]) != 2 {
		t.Errorf("got %v, %v", b, err)
	}
	_ = conn.Close()
	_ = listener.Close()
	<-ended
	for _, taken := range c.listeners {
		_ = taken.Close()
	}
}
