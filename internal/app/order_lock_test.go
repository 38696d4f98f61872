package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// redsyncRelease is the hash of the script by which redsync releases a mutex.
const redsyncRelease = "e950836ed1e694540c503ef9972b8de518044d3b"

// Only orders of vouchers with a limit of one per user take a mutex, on the state Redis or on
// a majority of --redis-lock-urls.
func TestOrderTakesARedsyncMutex(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nodes int // 0: the state Redis
	}{{"the state Redis", 0}, {"three nodes", 3}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stack := apptest.Real(t)
			watched := []string{stack.Config.RedisURL}
			if tt.nodes > 0 {
				watched = nil
			}
			for range tt.nodes {
				watched = append(watched, testkit.Redis(t))
			}
			if tt.nodes > 0 {
				stack.Config.RedisLockURLs = watched
			}
			m := openMarket(t, stack, 2)
			s := stack.Start(t)
			once, often := m.ordinary(t, s, true), m.ordinary(t, s, false)
			var monitors []*commandLog
			for _, url := range watched {
				monitors = append(monitors, startCommandLog(t, url))
			}
			order := func(user person, voucher string) {
				t.Helper()
				var p placed
				s.As(user.token).Must(t, orderVoucher, map[string]any{"v": voucher}, &p)
				if p.code() != "" {
					t.Fatalf("refused: %s", p.code())
				}
			}
			order(m.customers[1], once) // loads the script into all nodes
			user := m.customers[0]
			order(user, often)
			order(user, once)
			key := fmt.Sprintf("%s:lock:{order:%d:%d}", stack.Config.RedisPrefix, number(t, once), number(t, user.id))
			for i, w := range monitors {
				// The order waits for a majority only, so the last node may be later.
				testkit.Eventually(t, 10*time.Second, func() bool { return len(w.about(key)) >= 2 })
				lines := w.about(key)
				acquired := strings.Fields(lines[0])
				if len(lines) != 2 || len(acquired) < 4 || acquired[0] != `"set"` || acquired[len(acquired)-1] != `"nx"` {
					t.Fatalf("node %d: got %q, want an acquisition first", i, lines)
				}
				value := acquired[2]
				if want := fmt.Sprintf(`"evalsha" "%s" "1" "%s" %s`, redsyncRelease, key, value); lines[1] != want {
					t.Errorf("node %d: got release %q, want %q", i, lines[1], want)
				}
				if others := w.about(fmt.Sprintf("{order:%d:", number(t, often))); len(others) > 0 {
					t.Errorf("node %d: an unlimited order took a lock: %q", i, others)
				}
			}
		})
	}
}

// commandLog records the commands that clients send to a Redis.
type commandLog struct {
	mu   sync.Mutex
	seen []string
}

func startCommandLog(t *testing.T, url string) *commandLog {
	t.Helper()
	w := &commandLog{}
	watchCommands(t, url, func(line string) {
		_, command, ok := strings.Cut(line, "] ")
		if ok && !strings.Contains(line, " lua] ") { // skips commands of scripts
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, command)
		}
	})
	return w
}

// about returns the commands that contain a text.
func (w *commandLog) about(text string) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, command := range w.seen {
		if strings.Contains(command, text) {
			found = append(found, command)
		}
	}
	return found
}
