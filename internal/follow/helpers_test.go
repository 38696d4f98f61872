package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/feedhead"
	entfollow "github.com/tandian-dev/tandian/ent/follow"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // each refused connection would be a line
	os.Exit(m.Run())
}

// patience is what a wait that should succeed may take on a busy machine.
const patience = 20 * time.Second

// The people of most tests: users 1 to 20 are there.
const (
	ann, bob, cid, dan = int64(1), int64(2), int64(3), int64(4)
	population         = int64(20)
	nobody             = int64(999)
)

// people are the users over their table, as follows need them.
type people struct {
	db *ent.Client

	mu   sync.Mutex
	told []int64 // ids that were announced
}

func (p *people) LockFollows(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]int, error) {
	lock := tx.User.Query().Where(entuser.IDIn(ids...)).Order(entuser.ByID())
	lock.Modify(sqldb.ForUpdate)
	rows, err := lock.All(ctx)
	followees := map[int64]int{}
	for _, row := range rows {
		followees[row.ID] = row.FolloweeCount
	}
	return followees, err
}

func (p *people) AddFollows(ctx context.Context, tx *ent.Tx, followers, followees map[int64]int) ([]outbox.JobRef, error) {
	for _, id := range each(slices.AppendSeq(slices.Collect(maps.Keys(followers)), maps.Keys(followees))) {
		change := tx.User.Update().Where(entuser.ID(id)).AddFolloweeCount(followers[id]).AddFollowerCount(followees[id])
		if followers[id] != 0 {
			change.AddFollowVersion(1)
		}
		if err := change.Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (p *people) Followees(ctx context.Context, ids []int64) (map[int64]int, error) {
	rows, err := p.db.User.Query().Where(entuser.IDIn(ids...)).All(ctx)
	counts := map[int64]int{}
	for _, row := range rows {
		counts[row.ID] = row.FolloweeCount
	}
	return counts, err
}

func (p *people) AfterCommit(_ context.Context, ids []int64, _ []outbox.JobRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, ids...)
}

// head is the number of the newest thing in the feed, kept as Config.Head says.
func head(ctx context.Context, tx *ent.Tx) (int64, error) {
	row := tx.FeedHead.Query().Where(feedhead.ID(1))
	row.Modify(sqldb.ForShare)
	one, err := row.Only(ctx)
	if err != nil {
		return 0, err
	}
	return one.Seq, nil
}

// A process is a Service as one of several processes has it.
type process struct {
	*Service
	from   storetest.Process
	box    *outbox.Box
	people *people
	wire   *storetest.FaultyRedis
	sent   *atomic.Int64 // statements that were counted
}

// open starts a process on stores. Processes with one bus hear of each other.
func open(t *testing.T, on storetest.Stores, bus eventbus.Bus, change ...func(*Config)) process {
	t.Helper()
	from := storetest.Open(t, on)
	hub, err := cache.NewClient(from.Redis, cache.Options{Prefix: storetest.Prefix, RedisTimeout: on.Redis.Timeout, Log: from.Log, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Wait)
	p := process{from: from, box: from.NewOutbox(t), people: &people{db: from.DB}, wire: &storetest.FaultyRedis{}, sent: &atomic.Int64{}}
	from.Redis.AddHook(p.wire)
	cfg := Config{Users: p.people, Head: head, ask: 3, settle: time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	p.Service = New(from.DB, hub, p.box, cfg)
	return p
}

// limit lowers what one may follow.
func limit(n int) func(*Config) { return func(c *Config) { c.limit = n } }

// openTwo starts two processes, and stores users.
func openTwo(t *testing.T, on storetest.Stores, change ...func(*Config)) (a, b process) {
	t.Helper()
	bus := eventbus.NewMemory()
	a, b = open(t, on, bus, change...), open(t, on, bus, change...)
	a.populate(t, population)
	return a, b
}

// openOne starts a process, and stores users.
func openOne(t *testing.T, on storetest.Stores, change ...func(*Config)) process {
	t.Helper()
	p := open(t, on, nil, change...)
	p.populate(t, population)
	return p
}

// populate stores users 1 to n.
func (p process) populate(t *testing.T, n int64) {
	t.Helper()
	users := make([]*ent.UserCreate, n)
	for i := range users {
		users[i] = p.db.User.Create().SetID(int64(i) + 1).SetNickname("somebody")
	}
	for part := range slices.Chunk(users, 500) {
		p.db.User.CreateBulk(part...).ExecX(t.Context())
	}
}

// clear leaves the users alone, and nobody following anybody.
func (p process) clear(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	p.box.Wait()
	p.db.Follow.Delete().ExecX(ctx)
	p.db.OutboxJob.Delete().ExecX(ctx)
	p.db.User.Update().SetFollowerCount(0).SetFolloweeCount(0).ExecX(ctx)
	ids := p.db.User.Query().IDsX(ctx)
	must(t, p.out.Invalidate(ctx, ids...))
	must(t, p.followers.Invalidate(ctx, ids...))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// follows has a user follow others, in turn.
func (p process) follows(t *testing.T, follower int64, followees ...int64) {
	t.Helper()
	for _, one := range followees {
		must(t, p.Follow(t.Context(), follower, one))
	}
}

func (p process) unfollows(t *testing.T, follower int64, followees ...int64) {
	t.Helper()
	for _, one := range followees {
		must(t, p.Unfollow(t.Context(), follower, one))
	}
}

// store commits a follow, counted, and tells nobody.
func (p process) store(t *testing.T, follower, followee int64) (row int64) {
	t.Helper()
	row = p.db.Follow.Create().SetFollowerID(follower).SetFolloweeID(followee).SetSinceSeq(0).SetCreatedAt(1).SaveX(t.Context()).ID
	p.db.User.UpdateOneID(follower).AddFolloweeCount(1).ExecX(t.Context())
	p.db.User.UpdateOneID(followee).AddFollowerCount(1).ExecX(t.Context())
	return row
}

// counted is what a user's row says: followers, followees.
func (p process) counted(t *testing.T, user int64) [2]int {
	t.Helper()
	row := p.db.User.GetX(t.Context(), user)
	return [2]int{row.FollowerCount, row.FolloweeCount}
}

// wantCounted wants that of a user.
func (p process) wantCounted(t *testing.T, user int64, followers, followees int) {
	t.Helper()
	if got := p.counted(t, user); got != [2]int{followers, followees} {
		t.Errorf("user %d has %d followers and follows %d, want %d and %d", user, got[0], got[1], followers, followees)
	}
}

// everybody is all users of most tests.
func everybody() (ids []int64) {
	for id := int64(1); id <= population; id++ {
		ids = append(ids, id)
	}
	return ids
}

// followed is whom of everybody a user follows, in the order of ids.
func (p process) followed(t *testing.T, viewer int64) []int64 {
	t.Helper()
	found, err := p.IsFollowed(t.Context(), viewer, everybody())
	must(t, err)
	return slices.Sorted(maps.Keys(found))
}

// setOf is what Redis has of whom a user follows: member to score, without the marker;
// nil if there is no set.
func (p process) setOf(t *testing.T, user int64) map[string]int64 {
	t.Helper()
	found, err := p.from.Redis.ZRangeWithScores(t.Context(), keyOf(user), 0, -1).Result()
	must(t, err)
	if len(found) == 0 {
		return nil
	}
	set := map[string]int64{}
	for _, z := range found {
		if member, _ := z.Member.(string); member != "" {
			set[member] = int64(z.Score)
		}
	}
	return set
}

func keyOf(user int64) string { return storetest.Prefix + ":follow:out:{" + decimal(user) + "}" }

// rowsOf is the same by the rows.
func (p process) rowsOf(t *testing.T, user int64) map[string]int64 {
	t.Helper()
	set := map[string]int64{}
	for _, row := range p.db.Follow.Query().Where(entfollow.FollowerID(user)).AllX(t.Context()) {
		set[decimal(row.FolloweeID)] = row.ID
	}
	return set
}

// A lister lists what it lists of one user.
type lister func(first int, after page.Cursor) (*Page, error)

func (p process) followersOf(t *testing.T, user int64) lister {
	return func(first int, after page.Cursor) (*Page, error) {
		pages, err := p.Followers(t.Context(), []int64{user}, first, after)
		return pages[user], err
	}
}

func (p process) followeesOf(t *testing.T, user int64) lister {
	return func(first int, after page.Cursor) (*Page, error) {
		pages, err := p.Followees(t.Context(), []int64{user}, first, after)
		return pages[user], err
	}
}

func (p process) commonOf(t *testing.T, viewer, user int64) lister {
	return func(first int, after page.Cursor) (*Page, error) {
		return p.Common(t.Context(), viewer, user, first, after)
	}
}

// all reads a list in pages and returns the users. between runs after each page.
func (l lister) all(t *testing.T, first int, between ...func()) []int64 {
	t.Helper()
	users := []int64{}
	for after := page.Cursor(""); ; {
		p, err := l(first, after)
		must(t, err)
		for _, e := range p.Edges {
			users = append(users, e.User)
		}
		if n := len(p.Edges); n > first || p.Info.HasNextPage && n < first || p.Info.HasPreviousPage != (after != "") {
			t.Fatalf("a page of %d with %+v", n, p.Info)
		}
		if !p.Info.HasNextPage {
			return users
		}
		after = *p.Info.EndCursor
		for _, do := range between {
			do()
		}
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// refusal is the codes and fields of a refusal, or the error itself.
func refusal(err error) string {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	if !ok && err != nil {
		return err.Error()
	}
	var list []string
	for _, r := range refused {
		list = append(list, string(r.Code)+" "+strings.Join(r.Field, "."))
	}
	return strings.Join(list, ", ")
}

// waits is how many jobs of the outbox wait for somebody.
func (p process) waits(t *testing.T) int64 {
	t.Helper()
	return storetest.Waiting(t, p.box)
}

// cost is what was asked of the stores since the last time: round trips to Redis and
// statements.
func (p process) cost(t *testing.T) string {
	t.Helper()
	statements := p.from.Statements(t)
	last := int(p.sent.Swap(int64(statements)))
	return fmt.Sprintf("%d round trips, %d statements", p.wire.Trips.Swap(0), statements-last)
}

// A wire is a way to Redis that can be cut. The zero wire is whole.
type wire struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// through returns stores whose Redis is at the other end of the wire.
func (w *wire) through(on storetest.Stores) storetest.Stores {
	dial := on.Redis.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	on.Redis.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut {
			return nil, errors.New("the wire is cut")
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			w.conns = append(w.conns, conn)
		}
		return conn, err
	}
	return on
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// ids is decimals as numbers, in order.
func ids(t *testing.T, set map[string]int64) []int64 {
	t.Helper()
	list := []int64{}
	for member := range set {
		id, err := strconv.ParseInt(member, 10, 64)
		must(t, err)
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func eventually(t *testing.T, cond func() bool) {
	t.Helper()
	testkit.Eventually(t, patience, cond)
}
