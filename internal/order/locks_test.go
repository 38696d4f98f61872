//go:build unix

package order

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A lockNode is a Redis for locks that a test may pause or kill.
type lockNode struct {
	url string
	pid int
}

func newLockNode(t *testing.T) lockNode {
	t.Helper()
	n := lockNode{url: testkit.Redis(t)}
	o, err := redis.ParseURL(n.url)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	info, err := testkit.AdminClient(t, rdb).Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "process_id:")
	text, _, _ := strings.Cut(rest, "\r")
	if n.pid, err = strconv.Atoi(text); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n lockNode) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(n.pid, s); err != nil {
		t.Error(err)
	}
}

// The unique index decides. While one lock node is killed and another is paused, no majority
// exists: orders proceed without the lock, and each user gets one order.
func TestRacingOrdersLeaveOnePerUser(t *testing.T) {
	orders, users := 10_000, 1_000
	if testing.Short() {
		orders, users = 2_000, 200
	}
	const instances, callers = 3, 32 // callers per instance
	seed := testkit.Seed(t)
	w := newFixture(storetest.Real(t))
	var nodes []lockNode
	for range 3 {
		n := newLockNode(t)
		nodes, w.nodes = append(nodes, n), append(w.nodes, n.url)
	}
	var all []process
	for range instances {
		all = append(all, w.process(t))
	}
	const first = 1_000 // ids of users
	var rows []*ent.UserCreate
	for i := range users {
		rows = append(rows, all[0].db.User.Create().SetID(int64(first+i)).SetNickname("user"))
	}
	all[0].db.User.CreateBulk(rows...).ExecX(t.Context())

	wanted := make(chan int64, orders)
	draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	list := make([]int64, orders)
	for i := range list {
		list[i] = int64(first + i%users)
	}
	draw.Shuffle(orders, func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, user := range list {
		wanted <- user
	}
	close(wanted)
	var answered, made, failedLocks atomic.Int64
	var callersDone, faults sync.WaitGroup
	faults.Go(func() {
		for part, fault := range []func(){
			func() { nodes[0].signal(t, syscall.SIGKILL) },
			func() { nodes[1].signal(t, syscall.SIGSTOP) },
			func() { nodes[1].signal(t, syscall.SIGCONT) },
		} {
			for answered.Load() < int64(orders*(part+1)/4) && clock.Sleep(t.Context(), time.Millisecond) == nil {
			}
			fault()
		}
	})
	for i := range instances * callers {
		p := all[i%instances]
		callersDone.Go(func() {
			for user := range wanted {
				o, err := p.Place(context.WithoutCancel(t.Context()), user, oncePerUser, "")
				switch {
				case err == nil:
					made.Add(1)
				case codes(err) != string(AlreadyOrdered):
					t.Errorf("user %d: got %v, want %s", user, err, AlreadyOrdered)
				case o == nil || o.UserID != user:
					t.Errorf("user %d: got order %v, want the existing one", user, o)
				}
				answered.Add(1)
			}
		})
	}
	callersDone.Wait()
	faults.Wait()
	for _, p := range all {
		stats := p.cfg.Locks.Stats()
		failedLocks.Add(stats.Failed)
		t.Logf("%+v", stats)
	}
	if failedLocks.Load() == 0 {
		t.Error("the lock nodes never failed, want some failures")
	}
	live := all[0].db.Order.Query().Where(entorder.VoucherID(oncePerUser)).AllX(t.Context())
	owners := map[int64]int{}
	for _, row := range live {
		owners[row.UserID]++
	}
	if made.Load() != int64(users) || len(live) != users || len(owners) != users {
		t.Errorf("got %d new orders, %d rows of %d users, want %d each", made.Load(), len(live), len(owners), users)
	}
}

// An order waits at most 300 ms for its lock, with a tenfold margin for a busy machine.
func TestOrdersContinueWithoutLockNodes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"paused", syscall.SIGSTOP}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(storetest.Real(t))
			var nodes []lockNode
			for range 3 {
				n := newLockNode(t)
				nodes, w.nodes = append(nodes, n), append(w.nodes, n.url)
			}
			p := w.process(t)
			ordered(t, p, ann, anyTimes, "") // warm up
			for _, n := range nodes[:2] {
				n.signal(t, tt.signal)
				defer n.resume()
			}
			began := time.Now()
			first := ordered(t, p, bob, oncePerUser, "")
			if took := time.Since(began); took > 10*lockWait {
				t.Errorf("the order took %v, want at most %v", took, 10*lockWait)
			}
			again, err := p.Place(t.Context(), bob, oncePerUser, "")
			if refused, ok := errors.AsType[apierror.UserErrors](err); !ok || len(refused) != 1 || refused[0].Code != AlreadyOrdered || again.ID != first.ID {
				t.Errorf("got %v, %v", again, fmt.Sprint(err))
			}
		})
	}
}

// resume resumes a paused node. It does nothing for a killed one.
func (n lockNode) resume() { _ = syscall.Kill(n.pid, syscall.SIGCONT) }
