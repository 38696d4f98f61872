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
	redisdb.SilenceRedisLog() // it logs each refused connection
	os.Exit(m.Run())
}

// maxWait limits waits that should succeed on a busy machine.
const maxWait = 20 * time.Second

// The users of most tests. Users 1 to 20 exist.
const (
	ann, bob, cid, dan = int64(1), int64(2), int64(3), int64(4)
	population         = int64(20)
	missingUser        = int64(999)
)

// fakeUsers implements Users on the users table.
type fakeUsers struct {
	db *ent.Client

	mu       sync.Mutex
	notified []int64 // ids passed to AfterCommit
}

func (p *fakeUsers) LockFollows(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]int, error) {
	lock := tx.User.Query().Where(entuser.IDIn(ids...)).Order(entuser.ByID())
	lock.Modify(sqldb.ForUpdate)
	rows, err := lock.All(ctx)
	followees := map[int64]int{}
	for _, row := range rows {
		followees[row.ID] = row.FolloweeCount
	}
	return followees, err
}

func (p *fakeUsers) AddFollows(ctx context.Context, tx *ent.Tx, followers, followees map[int64]int) ([]outbox.JobRef, error) {
	for _, id := range sortedUnique(slices.AppendSeq(slices.Collect(maps.Keys(followers)), maps.Keys(followees))) {
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

func (p *fakeUsers) Followees(ctx context.Context, ids []int64) (map[int64]int, error) {
	rows, err := p.db.User.Query().Where(entuser.IDIn(ids...)).All(ctx)
	counts := map[int64]int{}
	for _, row := range rows {
		counts[row.ID] = row.FolloweeCount
	}
	return counts, err
}

func (p *fakeUsers) AfterCommit(_ context.Context, ids []int64, _ []outbox.JobRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notified = append(p.notified, ids...)
}

// head implements Config.Head.
func head(ctx context.Context, tx *ent.Tx) (int64, error) {
	row := tx.FeedHead.Query().Where(feedhead.ID(1))
	row.Modify(sqldb.ForShare)
	one, err := row.Only(ctx)
	if err != nil {
		return 0, err
	}
	return one.Seq, nil
}

// A process is a Service of one of several processes.
type process struct {
	*Service
	from        storetest.Process
	box         *outbox.Box
	users       *fakeUsers
	redisFaults *storetest.FaultyRedis
	sent        *atomic.Int64 // statements counted so far
}

// open starts a process on stores. Processes with the same bus receive each other's
// invalidations.
func open(t *testing.T, on storetest.Stores, bus eventbus.Bus, change ...func(*Config)) process {
	t.Helper()
	from := storetest.Open(t, on)
	hub, err := cache.NewClient(from.Redis, cache.Options{Prefix: storetest.Prefix, RedisTimeout: on.Redis.Timeout, Log: from.Log, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Wait)
	p := process{from: from, box: from.NewOutbox(t), users: &fakeUsers{db: from.DB}, redisFaults: &storetest.FaultyRedis{}, sent: &atomic.Int64{}}
	from.Redis.AddHook(p.redisFaults)
	cfg := Config{Users: p.users, Head: head, probe: 3, recheckDelay: time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	p.Service = New(from.DB, hub, p.box, cfg)
	return p
}

// limit lowers the maximum of followees.
func limit(n int) func(*Config) { return func(c *Config) { c.limit = n } }

// openTwo starts two processes and inserts users.
func openTwo(t *testing.T, on storetest.Stores, change ...func(*Config)) (a, b process) {
	t.Helper()
	bus := eventbus.NewMemory()
	a, b = open(t, on, bus, change...), open(t, on, bus, change...)
	a.populate(t, population)
	return a, b
}

// openOne starts a process and inserts users.
func openOne(t *testing.T, on storetest.Stores, change ...func(*Config)) process {
	t.Helper()
	p := open(t, on, nil, change...)
	p.populate(t, population)
	return p
}

// populate inserts users 1 to n.
func (p process) populate(t *testing.T, n int64) {
	t.Helper()
	users := make([]*ent.UserCreate, n)
	for i := range users {
		users[i] = p.db.User.Create().SetID(int64(i) + 1).SetNickname("user")
	}
	for part := range slices.Chunk(users, 500) {
		p.db.User.CreateBulk(part...).ExecX(t.Context())
	}
}

// clear deletes all follows.
func (p process) clear(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	p.box.Wait()
	p.db.Follow.Delete().ExecX(ctx)
	p.db.OutboxJob.Delete().ExecX(ctx)
	p.db.User.Update().SetFollowerCount(0).SetFolloweeCount(0).ExecX(ctx)
	ids := p.db.User.Query().IDsX(ctx)
	must(t, p.followees.Invalidate(ctx, ids...))
	must(t, p.followers.Invalidate(ctx, ids...))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustFollow makes a user follow others, in order.
func (p process) mustFollow(t *testing.T, follower int64, followees ...int64) {
	t.Helper()
	for _, one := range followees {
		must(t, p.Follow(t.Context(), follower, one))
	}
}

func (p process) mustUnfollow(t *testing.T, follower int64, followees ...int64) {
	t.Helper()
	for _, one := range followees {
		must(t, p.Unfollow(t.Context(), follower, one))
	}
}

// store commits a follow and its counts, without invalidation.
func (p process) store(t *testing.T, follower, followee int64) (row int64) {
	t.Helper()
	row = p.db.Follow.Create().SetFollowerID(follower).SetFolloweeID(followee).SetSinceSeq(0).SetCreatedAt(1).SaveX(t.Context()).ID
	p.db.User.UpdateOneID(follower).AddFolloweeCount(1).ExecX(t.Context())
	p.db.User.UpdateOneID(followee).AddFollowerCount(1).ExecX(t.Context())
	return row
}

// rowCounts returns the follower and followee counts of a user's row.
func (p process) rowCounts(t *testing.T, user int64) [2]int {
	t.Helper()
	row := p.db.User.GetX(t.Context(), user)
	return [2]int{row.FollowerCount, row.FolloweeCount}
}

// wantCounts checks the counts of a user's row.
func (p process) wantCounts(t *testing.T, user int64, followers, followees int) {
	t.Helper()
	if got := p.rowCounts(t, user); got != [2]int{followers, followees} {
		t.Errorf("user %d has %d followers and follows %d, want %d and %d", user, got[0], got[1], followers, followees)
	}
}

// allUsers returns all users of most tests.
func allUsers() (ids []int64) {
	for id := int64(1); id <= population; id++ {
		ids = append(ids, id)
	}
	return ids
}

// followed returns the followees of a user among allUsers, by id.
func (p process) followed(t *testing.T, viewer int64) []int64 {
	t.Helper()
	found, err := p.IsFollowed(t.Context(), viewer, allUsers())
	must(t, err)
	return slices.Sorted(maps.Keys(found))
}

// cachedSet returns a user's followees in Redis: member to score, without the marker; nil if
// there is no set.
func (p process) cachedSet(t *testing.T, user int64) map[string]int64 {
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

// storedSet returns the same set from the rows.
func (p process) storedSet(t *testing.T, user int64) map[string]int64 {
	t.Helper()
	set := map[string]int64{}
	for _, row := range p.db.Follow.Query().Where(entfollow.FollowerID(user)).AllX(t.Context()) {
		set[decimal(row.FolloweeID)] = row.ID
	}
	return set
}

// A lister reads a page of one list.
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
			t.Fatalf("got %d edges and %+v for a page of %d", n, p.Info, first)
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

func wantEqual(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// refusal returns the codes and fields of a refusal, or the text of another error.
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

// pendingJobs returns the number of unfinished outbox jobs.
func (p process) pendingJobs(t *testing.T) int64 {
	t.Helper()
	return storetest.CountWaiting(t, p.box)
}

// cost returns the round trips to Redis and the statements since the last call.
func (p process) cost(t *testing.T) string {
	t.Helper()
	statements := p.from.Statements(t)
	last := int(p.sent.Swap(int64(statements)))
	return fmt.Sprintf("%d round trips, %d statements", p.redisFaults.Trips.Swap(0), statements-last)
}

// A link is a connection to Redis that a test can cut. The zero link works.
type link struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// through returns stores that reach Redis over the link.
func (w *link) through(on storetest.Stores) storetest.Stores {
	dial := on.Redis.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	on.Redis.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.cut {
			return nil, errors.New("link is cut")
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			w.conns = append(w.conns, conn)
		}
		return conn, err
	}
	return on
}

// set cuts or restores the link.
func (w *link) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// ids returns the members of a set as sorted numbers.
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
	testkit.Eventually(t, maxWait, cond)
}
