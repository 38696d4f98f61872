package comment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/notecount"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	os.Exit(m.Run())
}

const (
	ann = int64(11)
	bob = int64(12)
)

// noon is the time of tests.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// fixture is shared by the processes of a test.
type fixture struct {
	on                storetest.Stores
	noteUpdates       atomic.Int64 // cached by the writer
	noteInvalidations atomic.Int64 // by the outbox
	shopUpdates       atomic.Int64 // shops invalidated after commits
}

// notes implements Notes on the rows.
type notes struct {
	*fixture
	db *ent.Client
}

func (n notes) AddComments(ctx context.Context, tx *ent.Tx, more map[int64]int) (map[int64]int64, func(context.Context) error, error) {
	shops := map[int64]int64{}
	for _, id := range slices.Sorted(maps.Keys(more)) {
		row := tx.NoteCount.Query().Where(notecount.ID(id), notecount.Deleted(false))
		row.Modify(sqldb.ForUpdate)
		if existing, err := row.IDs(ctx); err != nil {
			return nil, nil, err
		} else if len(existing) == 0 {
			continue
		}
		if err := tx.NoteCount.UpdateOneID(id).AddComments(more[id]).AddVersion(1).Exec(ctx); err != nil {
			return nil, nil, err
		}
		note, err := tx.Note.Get(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		shops[id] = note.ShopID
	}
	return shops, func(context.Context) error { n.noteUpdates.Add(int64(len(shops))); return nil }, nil
}

func (n notes) InvalidateComments(_ context.Context, ids ...int64) error {
	n.noteInvalidations.Add(int64(len(ids)))
	return nil
}

func (n notes) Exist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	existing, err := n.db.Note.Query().Where(entnote.IDIn(ids...), entnote.DeletedAtIsNil()).IDs(ctx)
	live := map[int64]bool{}
	for _, id := range existing {
		live[id] = true
	}
	return live, err
}

// shops implements Shops on the rows.
type shops struct{ *fixture }

func (s shops) AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error) {
	for id, n := range comments {
		if err := tx.Shop.Update().Where(entshop.ID(id)).AddCommentCount(n).AddVersion(1).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s shops) AfterCommitCounts(_ context.Context, ids []int64, _ []outbox.JobRef) {
	s.shopUpdates.Add(int64(len(ids)))
}

// process is a Service with its stores.
type process struct {
	*Service
	fixture *fixture
	p       storetest.Process
}

func (w *fixture) process(t *testing.T) *process {
	t.Helper()
	p := storetest.Open(t, w.on)
	return &process{New(p.DB, p.Hub, p.NewOutbox(t), Config{Notes: notes{w, p.DB}, Shops: shops{w}, Now: func() time.Time { return noon }}), w, p}
}

// each runs a test on both pairs of stores, with two processes.
func each(t *testing.T, test func(t *testing.T, s, other *process)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := &fixture{on: on}
		test(t, w.process(t), w.process(t))
	})
}

var shopCount atomic.Int64

// shop stores a shop.
func (p *process) shop(t *testing.T) int64 {
	t.Helper()
	name := fmt.Sprint("shop ", shopCount.Add(1))
	typ := p.db.ShopType.Create().SetKey(name).SetName(name).SetSort(1).SaveX(t.Context())
	return p.db.Shop.Create().SetTypeID(typ.ID).SetName(name).SetLat(1).SetLng(1).SetGeo(1).SetSearch(name).SaveX(t.Context()).ID
}

// note stores a note about a shop.
func (p *process) note(t *testing.T, shop int64) int64 {
	t.Helper()
	id := p.db.Note.Create().SetAuthorID(ann).SetShopID(shop).SetTitle("Noodles").SetContent("Good.").SetCreatedAt(1).SaveX(t.Context()).ID
	p.db.NoteCount.Create().SetID(id).SetHot(0).ExecX(t.Context())
	return id
}

// delete marks a note as deleted.
func (p *process) delete(t *testing.T, note int64) {
	t.Helper()
	err := ent.WithTx(t.Context(), p.db, func(tx *ent.Tx) error {
		row, err := tx.Note.UpdateOneID(note).SetDeletedAt(2).Save(t.Context())
		if err != nil {
			return err
		}
		counts, err := tx.NoteCount.UpdateOneID(note).SetDeleted(true).AddVersion(1).Save(t.Context())
		if err != nil {
			return err
		}
		return tx.Shop.UpdateOneID(row.ShopID).AddCommentCount(-counts.Comments).Exec(t.Context())
	})
	must(t, err)
}

func (p *process) add(t *testing.T, note int64, parent *int64) *Comment {
	t.Helper()
	c, err := p.Add(t.Context(), ann, Draft{NoteID: note, ParentID: parent, Content: "Yes."})
	must(t, err)
	return c
}

// bulkInsert stores n comments and returns their ids, oldest first.
func (p *process) bulkInsert(t *testing.T, note int64, parent *int64, n int) []int64 {
	t.Helper()
	all := make([]Seed, n)
	for i := range all {
		all[i] = Seed{Draft{note, parent, fmt.Sprint("number ", i)}, ann, noon.Add(time.Duration(i) * time.Second)}
	}
	ids, err := p.BulkInsert(t.Context(), all)
	must(t, err)
	return ids
}

// read returns a comment, or nil if there is none.
func (p *process) read(t *testing.T, id int64) *Comment {
	t.Helper()
	c, err := p.ByID(t.Context(), id)
	if errors.Is(err, apierror.ErrNotFound) {
		return nil
	}
	must(t, err)
	return c
}

// list is the list of comments of one owner.
type list struct {
	read  func(ctx context.Context, owners []int64, first int, after page.Cursor) (map[int64]*Page, error)
	owner int64
}

func (p *process) onNote(note int64) list { return list{p.ByNotes, note} }

func (p *process) replies(root int64) list { return list{p.Replies, root} }

func idsOf(p *Page) []int64 {
	ids := []int64{}
	for _, e := range p.Edges {
		ids = append(ids, e.Node.ID)
	}
	return ids
}

// newestFirst reverses ids.
func newestFirst(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// page reads one page.
func (l list) page(t *testing.T, first int, after page.Cursor) *Page {
	t.Helper()
	found, err := l.read(t.Context(), []int64{l.owner}, first, after)
	must(t, err)
	return found[l.owner]
}

// walk reads the whole list, in pages of a size.
func (l list) walk(t *testing.T, first int, between func()) []int64 {
	t.Helper()
	ids, after := []int64{}, page.Cursor("")
	for {
		p := l.page(t, first, after)
		ids = append(ids, idsOf(p)...)
		if p.Info.HasPreviousPage != (after != "") || len(p.Edges) > first || len(p.Edges) > 0 && *p.Info.EndCursor != p.Edges[len(p.Edges)-1].Cursor {
			t.Fatalf("page of %d: got %d edges and %+v", first, len(p.Edges), p.Info)
		}
		if !p.Info.HasNextPage {
			return ids
		}
		after = *p.Info.EndCursor
		if between != nil {
			between()
		}
	}
}

// counts returns the comment counts in the rows of a note and a shop.
func (p *process) counts(t *testing.T, note, shop int64) [2]int {
	t.Helper()
	return [2]int{p.db.NoteCount.GetX(t.Context(), note).Comments, p.db.Shop.GetX(t.Context(), shop).CommentCount}
}

// reasons returns the codes and fields of a UserErrors, or the text of another error.
func reasons(err error) []string {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	if !ok && err != nil {
		return []string{err.Error()}
	}
	var list []string
	for _, r := range refused {
		list = append(list, string(r.Code)+" "+strings.Join(r.Field, "."))
	}
	return list
}

// cost returns the numbers of statements and round trips of f.
func (p *process) cost(t *testing.T, f func()) (statements, trips int) {
	t.Helper()
	const roundTrips = "tandian_redis_round_trip_seconds"
	statements, trips = p.p.Statements(t), p.p.Observed(t, roundTrips)
	f()
	return p.p.Statements(t) - statements, p.p.Observed(t, roundTrips) - trips
}
