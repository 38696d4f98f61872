package note

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // refused connections would log one line each
	os.Exit(m.Run())
}

const teahouse, bakery = int64(7), int64(8) // shop ids

// fakes implements Shops in memory, Users on rows, and Feed.
type fakes struct {
	comments map[int64]int // by shop
	slow     func(ctx context.Context)
	calls    atomic.Int64 // calls of AddNotes, one per transaction

	mu        sync.Mutex
	delivered map[int64]int64 // authors of delivered notes, by note
	lastSeqs  []int64         // arguments of SeqCommitted
	events    [][]Event       // arguments of SeqCommitted
	celebrity int64           // author that is a celebrity
	commits   int             // calls of FanOutCommitted
	feedErr   error           // error of EnqueueFanOut
	failsFor  int64           // user for which AddNotes fails
}

func (o *fakes) OwnerOf(_ context.Context, id int64) (*int64, bool, error) {
	return nil, id == teahouse || id == bakery, nil
}

func (o *fakes) AddComments(_ context.Context, _ *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error) {
	for id, n := range comments {
		o.comments[id] += n
	}
	return nil, nil
}

func (o *fakes) AfterCommitCounts(context.Context, []int64, []outbox.JobRef) {}

func (*fakes) Touch(...int64) {}

func (o *fakes) AddNotes(ctx context.Context, tx *ent.Tx, notes map[int64]int) (map[int64]int, []outbox.JobRef, error) {
	o.calls.Add(1)
	for id, n := range notes {
		if id == o.failsFor {
			return nil, nil, errFails
		}
		if err := tx.User.Update().Where(entuser.ID(id)).AddNoteCount(n).Exec(ctx); err != nil {
			return nil, nil, err
		}
	}
	if o.slow != nil {
		o.slow(ctx)
	}
	return map[int64]int{}, nil, nil
}

func (o *fakes) EnqueueFanOut(_ context.Context, _ *ent.Tx, authors map[int64]int64, _ map[int64]int) (map[int64]bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(o.delivered, authors)
	celebrities := map[int64]bool{}
	for _, author := range authors {
		celebrities[author] = author == o.celebrity
	}
	return celebrities, o.feedErr
}

func (o *fakes) FanOutCommitted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commits++
}

func (o *fakes) SeqCommitted(last int64, events []Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastSeqs = append(o.lastSeqs, last)
	o.events = append(o.events, events)
}

func (o *fakes) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

var errFails = errors.New("cannot count notes of this user")

// process is a Service in one of several processes.
type process struct {
	*Service
	fakes *fakes
	wire  *storetest.FaultyRedis
	box   *outbox.Box
	hub   *cache.Client
	ahead atomic.Int64 // clock offset, in milliseconds
}

func open(t *testing.T, on storetest.Stores) *process {
	t.Helper()
	from := storetest.Open(t, on)
	p := &process{fakes: &fakes{comments: map[int64]int{}, delivered: map[int64]int64{}}, wire: &storetest.FaultyRedis{}, box: from.NewOutbox(t), hub: from.Hub}
	from.Redis.AddHook(p.wire)
	p.Service = New(from.DB, from.Hub, p.box, Config{Shops: p.fakes, Users: p.fakes, Pictures: storetest.AnyPictures{}, Feed: p.fakes})
	p.now = func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load()) * time.Millisecond) }
	return p
}

// user stores a user.
func (p *process) user(t *testing.T) int64 {
	t.Helper()
	return p.db.User.Create().SetNickname("Ann").SaveX(t.Context()).ID
}

// publish publishes a note about the teahouse.
func (p *process) publish(t *testing.T, author int64, title string) *Note {
	t.Helper()
	n, err := p.Publish(t.Context(), author, Draft{ShopID: teahouse, Title: title, Content: "Good tea."})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// addLikes adds to the likes of a note. It returns the function to run after the commit, or
// nil if there is no such note.
func (p *process) addLikes(ctx context.Context, tx *ent.Tx, id int64, n int) (afterCommit func(context.Context) error, err error) {
	likes, add, err := p.LockLikes(ctx, tx, []int64{id})
	if _, ok := likes[id]; err != nil || !ok {
		return nil, err
	}
	put, err := add(ctx, map[int64]int{id: n})
	return func(ctx context.Context) error {
		pipeline := p.hub.Pipeline()
		put(pipeline)
		return pipeline.Exec(ctx)
	}, err
}

// like adds to the likes of a note.
func (p *process) like(t *testing.T, id int64, n int) {
	t.Helper()
	var afterCommit func(context.Context) error
	err := ent.WithTx(t.Context(), p.db, func(tx *ent.Tx) (err error) {
		afterCommit, err = p.addLikes(t.Context(), tx, id, n)
		return err
	})
	if err == nil && afterCommit != nil {
		err = afterCommit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// walk reads a list to its end, in pages of a size, and calls between after each page.
func walk(t *testing.T, size int, read func(first int, after page.Cursor) (*Page, error), between func()) (ids []int64) {
	t.Helper()
	for after := page.Cursor(""); ; {
		p, err := read(size, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Edges {
			ids = append(ids, e.Node.ID)
		}
		if !p.Info.HasNextPage {
			return ids
		}
		after = *p.Info.EndCursor
		if between != nil {
			between()
		}
		if len(ids) > 10_000 {
			t.Fatal("the list does not end")
		}
	}
}

// refused returns the codes and fields of a UserErrors, or the kind of another error.
func refused(err error) (out []string) {
	if wrong, ok := errors.AsType[apierror.UserErrors](err); ok {
		for _, w := range wrong {
			out = append(out, string(w.Code)+" "+w.Field[len(w.Field)-1])
		}
		return out
	}
	if err != nil {
		return []string{string(apierror.KindOf(err))}
	}
	return nil
}

func idsOfPage(p *Page) []int64 {
	ids := make([]int64, len(p.Edges))
	for i, e := range p.Edges {
		ids[i] = e.Node.ID
	}
	return ids
}

func reversed(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}
