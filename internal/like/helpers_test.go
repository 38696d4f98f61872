package like

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/ent/notecount"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // refused connections would log one line each
	os.Exit(m.Run())
}

// User ids.
const ann, bob, cid = int64(11), int64(12), int64(13)

// targets implements NoteTarget on the rows of notes or comments.
type targets struct {
	db   *ent.Client
	kind Kind

	mu          sync.Mutex
	before      func(ctx context.Context) error // runs before targets are locked; may be nil
	updated     []int64                         // ids from commits
	invalidated []int64                         // ids passed to InvalidateLikes
}

func (r *targets) LockLikes(ctx context.Context, tx *ent.Tx, ids []int64) (
	map[int64]int, func(context.Context, map[int64]int) (func(*cache.Pipeline), error), error,
) {
	if err := r.lock(ctx); err != nil {
		return nil, nil, err
	}
	likes := map[int64]int{}
	for _, id := range ids {
		total, err := r.add(ctx, tx, id, 0)
		if ent.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		likes[id] = total
	}
	return likes, func(ctx context.Context, more map[int64]int) (func(*cache.Pipeline), error) {
		changed := slices.Sorted(maps.Keys(more))
		for _, id := range changed {
			if _, err := r.add(ctx, tx, id, more[id]); err != nil {
				return nil, err
			}
		}
		return func(*cache.Pipeline) { r.record(changed...) }, nil
	}, nil
}

func (r *targets) LikesCounted(_ *cache.Pipeline, id int64, _, _, _ int, _, _ int64) {
	r.record(id)
}

func (r *targets) record(ids ...int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updated = append(r.updated, ids...)
}

// lock runs the hook before targets are locked.
func (r *targets) lock(ctx context.Context) error {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx)
}

// hooked runs the hook before statements that lock targets themselves.
type hooked struct {
	sqldb.Querier
	r *targets
}

func (h hooked) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := h.r.lock(ctx); err != nil {
		return nil, err
	}
	return h.Querier.QueryContext(ctx, query, args...)
}

func (r *targets) add(ctx context.Context, tx *ent.Tx, id int64, n int) (int, error) {
	if r.kind == Comment {
		row, err := tx.Comment.UpdateOneID(id).AddLikeCount(n).AddVersion(1).Save(ctx)
		if err != nil {
			return 0, err
		}
		return row.LikeCount, nil
	}
	row, err := tx.NoteCount.UpdateOneID(id).Where(notecount.Deleted(false)).AddLikes(n).AddVersion(1).Save(ctx)
	if err != nil {
		return 0, err
	}
	return row.Likes, nil
}

func (r *targets) InvalidateLikes(_ context.Context, ids ...int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.invalidated = append(r.invalidated, ids...)
	return nil
}

// hook sets the function that runs before a lock.
func (r *targets) hook(before func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = before
}

// takeCalls returns the ids of calls since its last call.
func (r *targets) takeCalls() (updated, invalidated []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	updated, invalidated, r.updated, r.invalidated = r.updated, r.invalidated, nil, nil
	return updated, invalidated
}

// count returns the stored like count of a target.
func (r *targets) count(t *testing.T, id int64) int {
	t.Helper()
	if r.kind == Comment {
		return r.db.Comment.GetX(t.Context(), id).LikeCount
	}
	return r.db.NoteCount.GetX(t.Context(), id).Likes
}

// process holds the Services of both kinds in one process.
type process struct {
	notes, comments *Service
	note, comment   *targets
	db              *ent.Client
	box             *outbox.Box
	wire            *storetest.FaultyRedis
	from            storetest.Process
}

func open(t *testing.T, on storetest.Stores) *process {
	t.Helper()
	from := storetest.Open(t, on)
	p := &process{db: from.DB, from: from, wire: &storetest.FaultyRedis{}, box: from.NewOutbox(t)}
	from.Redis.AddHook(p.wire)
	p.note, p.comment = &targets{db: p.db, kind: Note}, &targets{db: p.db, kind: Comment}
	p.notes = New(p.db, from.Hub, p.box, Config{Kind: Note, Target: p.note})
	p.comments = New(p.db, from.Hub, p.box, Config{Kind: Comment, Target: p.comment})
	p.notes.pause, p.comments.pause = -1, -1
	p.notes.querier = hooked{p.db, p.note}
	return p
}

// insertTargets stores notes and comments with these ids, without likes.
func (p *process) insertTargets(t *testing.T, ids ...int64) {
	t.Helper()
	if n := p.db.Note.Query().CountX(t.Context()); n == 0 { // parent of all comments
		p.db.Note.Create().SetID(1).SetAuthorID(1).SetShopID(1).SetTitle("Tea").SetContent("Good.").SetCreatedAt(0).ExecX(t.Context())
	}
	for part := range slices.Chunk(ids, 500) {
		var counts []*ent.NoteCountCreate
		var comments []*ent.CommentCreate
		for _, id := range part {
			counts = append(counts, p.db.NoteCount.Create().SetID(id).SetHot(0))
			comments = append(comments, p.db.Comment.Create().SetID(id).SetNoteID(1).SetAuthorID(1).SetContent("fine").SetCreatedAt(0))
		}
		p.db.NoteCount.CreateBulk(counts...).ExecX(t.Context())
		p.db.Comment.CreateBulk(comments...).ExecX(t.Context())
	}
}

// each runs a test for both kinds.
func (p *process) each(t *testing.T, test func(t *testing.T, s *Service, r *targets)) {
	t.Run("note", func(t *testing.T) { test(t, p.notes, p.note) })
	t.Run("comment", func(t *testing.T) { test(t, p.comments, p.comment) })
}

func upTo(n int64) []int64 {
	var ids []int64
	for id := int64(1); id <= n; id++ {
		ids = append(ids, id)
	}
	return ids
}

func like(t *testing.T, s *Service, id int64, users ...int64) {
	t.Helper()
	for _, user := range users {
		if err := s.Like(t.Context(), user, id); err != nil {
			t.Fatal(err)
		}
	}
}

func unlike(t *testing.T, s *Service, id int64, users ...int64) {
	t.Helper()
	for _, user := range users {
		if err := s.Unlike(t.Context(), user, id); err != nil {
			t.Fatal(err)
		}
	}
}

// likersOf returns the likers in the rows of a target, in order.
func (s *Service) likersOf(t *testing.T, id int64) []int64 {
	t.Helper()
	users := []int64{}
	for _, r := range s.db.Like.Query().Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.TargetID(id)).Order(entlike.ByID()).AllX(t.Context()) {
		users = append(users, r.UserID)
	}
	return users
}

// wantFirst checks the first likers of a target.
func wantFirst(t *testing.T, s *Service, id int64, first int, want ...int64) {
	t.Helper()
	got, err := s.FirstLikers(t.Context(), []int64{id}, first)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got[id]); d != "" {
		t.Errorf("first likers of %s %d (-want +got):\n%s", s.noun(), id, d)
	}
}

// liked returns the targets that a user likes, in order.
func liked(t *testing.T, s *Service, user int64, ids ...int64) []int64 {
	t.Helper()
	found, err := s.Liked(t.Context(), user, ids)
	if err != nil {
		t.Fatal(err)
	}
	yes := []int64{}
	for _, id := range ids {
		if found[id] {
			yes = append(yes, id)
		}
	}
	return yes
}

// wantLiked checks the targets that a user likes.
func wantLiked(t *testing.T, s *Service, user int64, ids []int64, want ...int64) {
	t.Helper()
	if d := cmp.Diff(append([]int64{}, want...), liked(t, s, user, ids...)); d != "" {
		t.Errorf("%ss that user %d likes (-want +got):\n%s", s.noun(), user, d)
	}
}

// notFound reports whether an error says that the target does not exist.
func notFound(err error) bool {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	return ok && len(refused) == 1 && refused[0].Code == apierror.NotFound && slices.Equal(refused[0].Field, []string{"id"})
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

func likersKey(id int64) string {
	return storetest.Prefix + ":" + likersName + ":{" + decimal(id) + "}"
}

func likedKey(s *Service, user int64) string {
	name := likedNotes
	if s.kind == Comment {
		name = likedComments
	}
	return storetest.Prefix + ":" + name + ":{" + decimal(user) + "}"
}

// snapshot returns the content of a window in Redis, or nil if it is missing.
func snapshot(t *testing.T, w *cache.Window[int64], key int64) *cache.WindowSnapshot[int64] {
	t.Helper()
	found, err := w.Peek(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		return nil
	}
	return &found[0]
}
