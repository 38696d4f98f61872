package save

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/notecount"
	entsave "github.com/tandian-dev/tandian/ent/save"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // refused connections would log one line each
	os.Exit(m.Run())
}

// User ids.
const ann, bob, cid = int64(11), int64(12), int64(13)

// targets implements Target on the rows of shops or notes.
type targets struct {
	db   *ent.Client
	kind Kind

	mu          sync.Mutex
	before      func(ctx context.Context) error // runs before targets are locked; may be nil
	invalidated []int64                         // ids passed to InvalidateSaves
	asked       int                             // calls of Exist
}

func (r *targets) LockSaves(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]int, func(context.Context, map[int64]int) error, error) {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, nil, err
		}
	}
	saves := map[int64]int{}
	for _, id := range ids {
		total, err := r.add(ctx, tx, id, 0)
		if ent.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		saves[id] = total
	}
	return saves, func(ctx context.Context, more map[int64]int) error {
		for id, n := range more {
			if _, err := r.add(ctx, tx, id, n); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (r *targets) add(ctx context.Context, tx *ent.Tx, id int64, n int) (int, error) {
	if r.kind == Shop {
		row, err := tx.Shop.UpdateOneID(id).AddSaveCount(n).AddVersion(1).Save(ctx)
		if err != nil {
			return 0, err
		}
		return row.SaveCount, nil
	}
	row, err := tx.NoteCount.UpdateOneID(id).Where(notecount.Deleted(false)).AddSaves(n).AddVersion(1).Save(ctx)
	if err != nil {
		return 0, err
	}
	return row.Saves, nil
}

func (r *targets) InvalidateSaves(_ context.Context, ids ...int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.invalidated = append(r.invalidated, ids...)
	return nil
}

func (r *targets) Exist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	r.mu.Lock()
	r.asked++
	r.mu.Unlock()
	var found []int64
	var err error
	if r.kind == Shop {
		found, err = r.db.Shop.Query().Where(entshop.IDIn(ids...)).IDs(ctx)
	} else {
		found, err = r.db.NoteCount.Query().Where(notecount.IDIn(ids...), notecount.Deleted(false)).IDs(ctx)
	}
	exist := map[int64]bool{}
	for _, id := range found {
		exist[id] = true
	}
	return exist, err
}

// hook sets the function that runs before a lock.
func (r *targets) hook(before func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = before
}

// takeInvalidated returns the ids of InvalidateSaves since its last call.
func (r *targets) takeInvalidated() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := r.invalidated
	r.invalidated = nil
	return ids
}

// count returns the stored number of saves of a target.
func (r *targets) count(t *testing.T, id int64) int {
	t.Helper()
	if r.kind == Shop {
		return r.db.Shop.GetX(t.Context(), id).SaveCount
	}
	return r.db.NoteCount.GetX(t.Context(), id).Saves
}

// setCount stores a wrong number of saves.
func (r *targets) setCount(t *testing.T, id int64, n int) {
	t.Helper()
	if r.kind == Shop {
		r.db.Shop.UpdateOneID(id).SetSaveCount(n).ExecX(t.Context())
		return
	}
	r.db.NoteCount.UpdateOneID(id).SetSaves(n).ExecX(t.Context())
}

// remove deletes targets.
func (r *targets) remove(t *testing.T, ids ...int64) {
	t.Helper()
	if r.kind == Shop {
		r.db.Shop.Delete().Where(entshop.IDIn(ids...)).ExecX(t.Context())
		return
	}
	r.db.NoteCount.Update().Where(notecount.IDIn(ids...)).SetDeleted(true).ExecX(t.Context())
}

// process holds the Services of both kinds in one process.
type process struct {
	shops, notes *Service
	shop, note   *targets
	db           *ent.Client
	box          *outbox.Box
	wire         *storetest.FaultyRedis
	from         storetest.Process
}

func open(t *testing.T, on storetest.Stores) *process {
	t.Helper()
	from := storetest.Open(t, on)
	p := &process{db: from.DB, from: from, wire: &storetest.FaultyRedis{}, box: from.NewOutbox(t)}
	from.Redis.AddHook(p.wire)
	open := func(r *targets) *Service {
		s := New(p.db, from.Hub, p.box, Config{Kind: r.kind, Target: r})
		s.pause = -1
		return s
	}
	p.shop, p.note = &targets{db: p.db, kind: Shop}, &targets{db: p.db, kind: Note}
	p.shops, p.notes = open(p.shop), open(p.note)
	return p
}

// insertTargets stores shops and notes with these ids, without saves.
func (p *process) insertTargets(t *testing.T, ids ...int64) {
	t.Helper()
	ctx := t.Context()
	if p.db.ShopType.Query().CountX(ctx) == 0 {
		p.db.ShopType.Create().SetID(1).SetKey("food").SetName("Food").SetIconURL("/food.svg").SetSort(1).ExecX(ctx)
	}
	for part := range slices.Chunk(ids, 500) {
		var counts []*ent.NoteCountCreate
		var shops []*ent.ShopCreate
		for _, id := range part {
			counts = append(counts, p.db.NoteCount.Create().SetID(id).SetHot(0))
			shops = append(shops, p.db.Shop.Create().SetID(id).SetTypeID(1).SetName("Tea").SetLat(0).SetLng(0).SetGeo(0).SetSearch(""))
		}
		p.db.NoteCount.CreateBulk(counts...).ExecX(ctx)
		p.db.Shop.CreateBulk(shops...).ExecX(ctx)
	}
}

// each runs a test for both kinds.
func (p *process) each(t *testing.T, test func(t *testing.T, s *Service, r *targets)) {
	t.Run("shop", func(t *testing.T) { test(t, p.shops, p.shop) })
	t.Run("note", func(t *testing.T) { test(t, p.notes, p.note) })
}

func upTo(n int64) []int64 {
	var ids []int64
	for id := int64(1); id <= n; id++ {
		ids = append(ids, id)
	}
	return ids
}

func reversed(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

func mustSave(t *testing.T, s *Service, user int64, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if err := s.Save(t.Context(), user, id); err != nil {
			t.Fatal(err)
		}
	}
}

func mustUnsave(t *testing.T, s *Service, user int64, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		if err := s.Unsave(t.Context(), user, id); err != nil {
			t.Fatal(err)
		}
	}
}

func bulkInsert(t *testing.T, s *Service, seeds ...Seed) int {
	t.Helper()
	n, err := s.BulkInsert(t.Context(), seeds)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// seedsOf returns saves of targets by one user, in order.
func seedsOf(user int64, ids ...int64) []Seed {
	seeds := make([]Seed, len(ids))
	for i, id := range ids {
		seeds[i] = Seed{id, user, time.UnixMilli(1000 + id)}
	}
	return seeds
}

// rowsOf returns the targets in the rows of a user, newest save first.
func (s *Service) rowsOf(t *testing.T, user int64) []int64 {
	t.Helper()
	ids := []int64{}
	for _, r := range s.db.Save.Query().Where(entsave.KindEQ(s.kind()), entsave.UserID(user)).Order(ent.Desc(entsave.FieldID)).AllX(t.Context()) {
		ids = append(ids, r.TargetID)
	}
	return ids
}

// list reads the list of a user to its end, in pages, and calls between after each page.
func list(t *testing.T, s *Service, user int64, first int, between func()) []int64 {
	t.Helper()
	ids := []int64{}
	for after := page.Cursor(""); ; {
		p, err := s.List(t.Context(), user, first, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range p.Items {
			ids = append(ids, item.Target)
		}
		if p.Info.HasPreviousPage != (after != "") {
			t.Errorf("page after %q: got HasPreviousPage %v", after, p.Info.HasPreviousPage)
		}
		if !p.Info.HasNextPage {
			return ids
		}
		if len(p.Items) != first {
			t.Fatalf("got a page of %d with a next page, want %d", len(p.Items), first)
		}
		after = *p.Info.EndCursor
		if between != nil {
			between()
		}
	}
}

// wantSaved checks which of some targets a user saved, and the list of the user, newest save first.
func wantSaved(t *testing.T, s *Service, user int64, of []int64, want ...int64) {
	t.Helper()
	found, err := s.Saved(t.Context(), user, of)
	if err != nil {
		t.Fatal(err)
	}
	yes := []int64{}
	for _, id := range of {
		if found[id] {
			yes = append(yes, id)
		}
	}
	sorted := slices.Sorted(slices.Values(want))
	if d := cmp.Diff(append([]int64{}, sorted...), yes); d != "" {
		t.Errorf("%ss that user %d saved (-want +got):\n%s", s.noun(), user, d)
	}
	if d := cmp.Diff(append([]int64{}, want...), list(t, s, user, 3, nil)); d != "" {
		t.Errorf("list of %ss of user %d (-want +got):\n%s", s.noun(), user, d)
	}
}

// notFound reports whether an error says that the target does not exist.
func notFound(err error) bool {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	return ok && len(refused) == 1 && refused[0].Code == apierror.NotFound && slices.Equal(refused[0].Field, []string{"id"})
}

func limited(err error) bool {
	why, ok := errors.AsType[apierror.UserErrors](err)
	return ok && why[0].Code == quota.LimitReached
}

// limitOf returns a limit for old accounts.
func limitOf(p *process, perHour int) *quota.Limit {
	return quota.NewSet(quota.Config{
		Redis: p.from.Redis, Prefix: storetest.Prefix, Registerer: prometheus.NewRegistry(), Log: p.from.Log,
		CreatedAt: func(context.Context, int64) (time.Time, error) { return time.Time{}, nil },
	}).Limit("saves", perHour)
}

// cost returns the round trips to Redis and the statements of do.
func (p *process) cost(t *testing.T, do func()) (trips, statements int) {
	t.Helper()
	return p.from.CountCalls(t, p.wire, do)
}

// waitingJobs returns the number of waiting outbox jobs.
func (p *process) waitingJobs(t *testing.T) int64 {
	t.Helper()
	return storetest.CountWaiting(t, p.box)
}

func savedKey(s *Service, user int64) string {
	return storetest.Prefix + ":" + s.savedName() + ":{" + decimal(user) + "}"
}

// snapshot returns the set of a user in Redis, or nil if it is missing.
func snapshot(t *testing.T, s *Service, user int64) *cache.WindowSnapshot[int64] {
	t.Helper()
	found, err := s.saved.Peek(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		return nil
	}
	return &found[0]
}
