package like

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"entgo.io/ent/dialect"

	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/ent/notecount"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestLikeCountsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			steps := []struct {
				name    string
				do      func() error
				likers  []int64
				updated []int64 // targets with changed counts
			}{
				{"no likes", func() error { return nil }, nil, nil},
				{"ann likes", func() error { return s.Like(t.Context(), ann, 1) }, []int64{ann}, []int64{1}},
				{"and again", func() error { return s.Like(t.Context(), ann, 1) }, []int64{ann}, nil},
				{"bob likes", func() error { return s.Like(t.Context(), bob, 1) }, []int64{ann, bob}, []int64{1}},
				{"ann unlikes", func() error { return s.Unlike(t.Context(), ann, 1) }, []int64{bob}, []int64{1}},
				{"and again", func() error { return s.Unlike(t.Context(), ann, 1) }, []int64{bob}, nil},
				{"cid unlikes", func() error { return s.Unlike(t.Context(), cid, 1) }, []int64{bob}, nil},
				{"bob unlikes", func() error { return s.Unlike(t.Context(), bob, 1) }, nil, []int64{1}},
			}
			for _, step := range steps {
				if err := step.do(); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				updated, _ := r.takeCalls()
				if d := cmp.Diff(step.updated, updated); d != "" {
					t.Errorf("%s: updated counts (-want +got):\n%s", step.name, d)
				}
				if n := r.count(t, 1); n != len(step.likers) {
					t.Errorf("%s: got %d likes, want %d", step.name, n, len(step.likers))
				}
				wantFirst(t, s, 1, 10, step.likers...)
				wantFirst(t, s, 2, 10)
				for _, user := range []int64{ann, bob, cid} {
					want := []int64{}
					if slices.Contains(step.likers, user) {
						want = append(want, 1)
					}
					wantLiked(t, s, user, []int64{1, 2}, want...)
				}
			}
			if n := p.waitingJobs(t); n != 0 {
				t.Errorf("got %d waiting outbox jobs, want none", n)
			}
		})
	})
}

func TestMissingTargetCannotBeLiked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		p.db.NoteCount.Create().SetID(2).SetHot(0).SetDeleted(true).ExecX(t.Context())
		before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
		for name, err := range map[string]error{
			"no such note":    p.notes.Like(t.Context(), ann, 9),
			"a deleted note":  p.notes.Like(t.Context(), ann, 2),
			"no such comment": p.comments.Like(t.Context(), ann, 9),
		} {
			if !notFound(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := p.notes.Unlike(t.Context(), ann, 9); err != nil {
			t.Errorf("unlike without a like: %v", err)
		}
		if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
			t.Errorf("data changed (-before +after):\n%s", d)
		}
	})
}

func TestLikeReturnsTheCount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			for _, step := range []struct {
				name     string
				user, id int64
				likes    int
				known    bool
			}{
				{"the first like", ann, 1, 1, true},
				{"the second", bob, 1, 2, true},
				{"a repeated one", bob, 1, 0, false},
				{"of another target", bob, 2, 1, true},
			} {
				likes, known, err := s.LikeAndCount(t.Context(), step.user, step.id)
				if err != nil || likes != step.likes || known != step.known {
					t.Errorf("%s: got %d, %v, %v, want %d and %v", step.name, likes, known, err, step.likes, step.known)
				}
			}
			calls := make([]func() error, 3)
			for i := range calls {
				calls[i] = func() error {
					likes, known, err := s.LikeAndCount(t.Context(), 30+int64(i), 1)
					if likes != 5 || !known { // the count after the commit
						t.Errorf("in a group: got %d, %v, want 5", likes, known)
					}
					return err
				}
			}
			if err := errors.Join(storetest.InOneGroup(t, r.hook, s.likes.Waiting, func() error { return s.Like(t.Context(), cid, 2) }, calls...)...); err != nil {
				t.Error(err)
			}
		})
	})
}

// The hot rank is that of bonus in internal/note/hot.go.
func TestLikeRaisesHotRank(t *testing.T) {
	p := open(t, storetest.Real(t)) // on SQLite package note computes the rank
	p.insertTargets(t, 1, 2)
	const created, week = 1_700_000_000_000, 7 * 24 * 60 * 60 * 1000
	rank := func(likes int) int64 { return created + int64(math.Round(week*math.Log10(1+float64(likes)))) }
	wants := func(id int64, likes int) {
		t.Helper()
		row := p.db.NoteCount.GetX(t.Context(), id)
		if row.Likes != likes || row.Hot != rank(likes) {
			t.Errorf("note %d: got %d likes and rank %d, want %d and %d", id, row.Likes, row.Hot, likes, rank(likes))
		}
	}
	for likes, id := range map[int]int64{0: 1, 98_765: 2} {
		p.db.NoteCount.UpdateOneID(id).SetLikes(likes).SetHot(rank(likes)).ExecX(t.Context())
		for n := range 12 {
			like(t, p.notes, id, 100+int64(n))
			wants(id, likes+n+1)
		}
	}
}

// rendezvous returns a hook that blocks the first caller until the second one arrives.
func rendezvous() func(context.Context) error {
	var n atomic.Int64
	both := make(chan struct{})
	return func(ctx context.Context) error {
		if n.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestRepeatedLikesTakeNoLock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		like(t, p.notes, 1, ann)
		if p.from.Dialect == dialect.Postgres {
			tx, err := p.db.Tx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			tx.NoteCount.Query().Where(notecount.ID(1)).Modify(sqldb.ForUpdate).OnlyX(t.Context())
		} else {
			p.note.hook(func(context.Context) error { return errors.New("unexpected lock") })
		}
		like(t, p.notes, 1, ann)
		unlike(t, p.notes, 1, bob)
	})
}

// Both calls have read before one of them writes.
func TestConcurrentLikesOfOneUserCountOnce(t *testing.T) {
	on := storetest.Real(t) // SQLite has one writer at a time
	processes := []*process{open(t, on), open(t, on)}
	processes[0].insertTargets(t, 1)
	for _, kind := range []Kind{Note, Comment} {
		services := make([]*Service, len(processes))
		fakes := make([]*targets, len(processes))
		for i, p := range processes {
			services[i], fakes[i] = p.notes, p.note
			if kind == Comment {
				services[i], fakes[i] = p.comments, p.comment
			}
		}
		s, r := services[0], fakes[0]
		for _, tap := range []struct {
			name string
			do   func(s *Service, ctx context.Context, user, id int64) error
			want []int64
		}{
			{"like", (*Service).Like, []int64{ann}},
			{"unlike", (*Service).Unlike, []int64{}},
		} {
			both := rendezvous()
			var taps sync.WaitGroup
			for i, s := range services {
				fakes[i].hook(both)
				taps.Go(func() {
					if err := tap.do(s, t.Context(), ann, 1); err != nil {
						t.Errorf("%s a %s: %v", tap.name, s.noun(), err)
					}
				})
			}
			taps.Wait()
			if got := s.likersOf(t, 1); !slices.Equal(got, tap.want) || r.count(t, 1) != len(tap.want) {
				t.Errorf("%s a %s: got likers %v and count %d, want %v", tap.name, s.noun(), got, r.count(t, 1), tap.want)
			}
		}
	}
}

func TestConcurrentLikesShareATransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2, 3)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			ann, bob, cid, dan, eve := ann, bob, cid, int64(14), int64(15)
			if s.kind == Comment { // their limit counts likes of both kinds
				ann, bob, cid, dan, eve = 21, 22, 23, 24, 25
			}
			like(t, s, 2, bob)
			s.quota = limitOf(p, 4)
			for range 4 { // use up the limit of cid
				if err := s.quota.Take(t.Context(), cid).Wait(); err != nil {
					t.Fatal(err)
				}
			}
			likes := []struct{ user, id int64 }{{dan, 3}, {bob, 1}, {ann, 1}, {ann, 404}, {bob, 2}, {ann, 2}, {ann, 1}, {cid, 1}, {eve, 2}}
			var calls []func() error
			for _, c := range likes {
				calls = append(calls, func() error { return s.Like(t.Context(), c.user, c.id) })
			}
			r.takeCalls()
			errs := storetest.InOneGroup(t, r.hook, s.likes.Waiting, calls[0], calls[1:]...)
			for i, err := range errs {
				ok := err == nil
				switch likes[i] {
				case struct{ user, id int64 }{ann, 404}:
					ok = notFound(err)
				case struct{ user, id int64 }{cid, 1}:
					ok = limited(err)
				}
				if !ok {
					t.Errorf("like %v: %v", likes[i], err)
				}
			}
			if updated, _ := r.takeCalls(); !slices.Equal(updated, []int64{3, 1, 2}) {
				t.Errorf("got updates of %v, want each once", updated)
			}
			wantFirst(t, s, 1, 10, bob, ann)
			wantFirst(t, s, 2, 10, bob, ann, eve)

			unlikes := []struct{ user, id int64 }{{dan, 3}, {bob, 1}, {ann, 404}, {bob, 1}, {cid, 1}, {eve, 2}, {bob, 2}}
			calls = nil
			for _, c := range unlikes {
				calls = append(calls, func() error { return s.Unlike(t.Context(), c.user, c.id) })
			}
			for i, err := range storetest.InOneGroup(t, r.hook, s.unlikes.Waiting, calls[0], calls[1:]...) {
				if err != nil {
					t.Errorf("unlike %v: %v", unlikes[i], err)
				}
			}
			for id, want := range map[int64][]int64{1: {ann}, 2: {ann}, 3: {}} {
				if got := s.likersOf(t, id); !slices.Equal(got, want) || r.count(t, id) != len(want) {
					t.Errorf("%s %d: got likers %v and count %d, want %v", s.noun(), id, got, r.count(t, id), want)
				}
			}
			wantFirst(t, s, 1, 10, ann)
			wantLiked(t, s, bob, []int64{1, 2})
			for user, want := range map[int64]int{ann: 2, bob: 3, dan: 2, eve: 2} { // changes, without repeats and failures
				for n := range 4 - want {
					if err := s.quota.Take(t.Context(), user).Wait(); err != nil {
						t.Errorf("user %d: got %d too many uses of the limit", user, 4-want-n)
					}
				}
				if err := s.quota.Take(t.Context(), user).Wait(); err == nil {
					t.Errorf("user %d: got fewer than %d uses of the limit", user, want)
				}
			}
			if n := p.waitingJobs(t); n != 0 {
				t.Errorf("got %d waiting outbox jobs, want none", n)
			}
		})
	})
}

// A count that is too low does not block unlikes.
func TestUncountedLikeCanBeRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		like(t, p.notes, 1, ann)
		p.db.NoteCount.UpdateOneID(1).SetLikes(0).ExecX(t.Context())
		unlike(t, p.notes, 1, ann)
		p.agree(t, 1)
	})
}

// Between the lookup and the lock, another process removes the like and adds a new one.
func TestUnlikeKeepsLikeAddedAfterLookup(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.insertTargets(t, 1)
	like(t, p.notes, 1, ann)
	again := true
	p.note.hook(func(ctx context.Context) error {
		if !again {
			return nil
		}
		again = false
		return errors.Join(other.notes.Unlike(ctx, ann, 1), other.notes.Like(ctx, ann, 1))
	})
	unlike(t, p.notes, 1, ann)
	if n := p.note.count(t, 1); n != 1 {
		t.Errorf("got %d likes, want 1", n)
	}
	wantFirst(t, p.notes, 1, 10, ann)
}

func TestDeadlockedLikeIsRetriedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		for id, times := range map[int64]int{1: 1, 2: 2} {
			left := times
			p.note.hook(func(context.Context) error {
				if left--; left >= 0 {
					return fmt.Errorf("update: %w", storetest.DeadlockError{})
				}
				return nil
			})
			err := p.notes.Like(t.Context(), ann, id)
			if times == 1 && (err != nil || p.note.count(t, id) != 1) || times == 2 && !errors.Is(err, storetest.DeadlockError{}) {
				t.Errorf("%d deadlocks: got %v", times, err)
			}
		}
	})
}

func TestLikeSurvivesRequestCancellation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		wantFirst(t, p.notes, 1, 10)
		ctx, leave := context.WithCancel(t.Context())
		p.note.hook(func(context.Context) error { leave(); return nil })
		if err := p.notes.Like(ctx, ann, 1); err != nil {
			t.Fatal(err)
		}
		wantFirst(t, p.notes, 1, 10, ann)
		if err := p.notes.Like(ctx, bob, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("like after the cancellation: got %v", err)
		}
	})
}

func TestOutboxInvalidatesLikesAfterWriterCrash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dying, other := open(t, on), open(t, on)
		other.insertTargets(t, 1, 2)
		s := other.notes
		like(t, s, 2, bob)
		shown := func() (list []int64) {
			found, err := s.FirstLikers(t.Context(), upTo(2), 10)
			if err != nil {
				t.Fatal(err)
			}
			return append(append(found[1], found[2]...), liked(t, s, ann, 1)...)
		}
		if got := shown(); !slices.Equal(got, []int64{bob}) {
			t.Fatal(got)
		}
		dying.wire.Down.Store(true) // its invalidations are lost
		like(t, dying.notes, 1, ann)
		unlike(t, dying.notes, 2, bob)
		if got := shown(); !slices.Equal(got, []int64{bob}) {
			t.Fatalf("invalid test: the sets contain %v", got)
		}
		other.note.takeCalls()
		storetest.Relay(t, other.box)
		testkit.Eventually(t, 20*time.Second, func() bool { return slices.Equal(shown(), []int64{ann, 1}) })
		testkit.Eventually(t, 20*time.Second, func() bool { return other.waitingJobs(t) == 0 })
		_, invalidated := other.note.takeCalls()
		slices.Sort(invalidated)
		if d := cmp.Diff(upTo(2), slices.Compact(invalidated)); d != "" {
			t.Errorf("invalidated notes (-want +got):\n%s", d)
		}
	})
}

func TestLikesWorkWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(300)...)
		var drafts []Draft
		for id := range int64(300) {
			drafts = append(drafts, Draft{id + 1, ann})
		}
		bulkInsert(t, p.notes, drafts...)
		p.wire.Down.Store(true)
		like(t, p.notes, 1, bob)
		unlike(t, p.notes, 7, ann)
		wantFirst(t, p.notes, 1, 10, ann, bob)
		wantLiked(t, p.notes, ann, []int64{300, 7, 8, 200}, 300, 8, 200)
		if n := p.waitingJobs(t); n != 2 {
			t.Errorf("got %d waiting jobs, want 2: like and unlike", n)
		}
	})
}

// Several users like and unlike at random in two processes, during reads.
func TestRowsCountsAndSetsAgreeUnderConcurrency(t *testing.T) {
	const notes, users, writers, taps = 3, 25, 6, 40
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := testkit.Seed(t)
		processes := []*process{open(t, on), open(t, on)}
		processes[0].insertTargets(t, upTo(notes)...)
		var all, reading sync.WaitGroup
		over := make(chan struct{})
		for i, p := range processes {
			for j := range writers / 2 {
				draw := rand.New(rand.NewPCG(seed, uint64(10*i+j)))
				all.Go(func() {
					for range taps {
						id, user := 1+draw.Int64N(notes), 1+draw.Int64N(users)
						tap := p.notes.Like
						if draw.IntN(5) < 2 {
							tap = p.notes.Unlike
						}
						if err := tap(t.Context(), user, id); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			reading.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					if _, err := p.notes.FirstLikers(t.Context(), upTo(notes), 50); err != nil {
						t.Error(err)
						return
					}
					if _, err := p.notes.Liked(t.Context(), 1+rand.Int64N(users), upTo(notes)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		close(over)
		reading.Wait()
		p := processes[0]
		for id := range int64(notes) {
			p.agree(t, id+1)
		}
		for user := range int64(users) {
			wantLiked(t, p.notes, user+1, upTo(notes), p.notes.likedBy(t, user+1)...)
		}
		processes[1].box.Wait()
		if n := p.waitingJobs(t); n != 0 {
			t.Errorf("got %d waiting outbox jobs, want none", n)
		}
	})
}

// agree compares the rows of a note with its count and its set. It reads Redis first, before
// a read could rebuild the set.
func (p *process) agree(t *testing.T, id int64) {
	t.Helper()
	want := p.notes.likersOf(t, id)
	if set := snapshot(t, p.notes.likers, id); set != nil {
		users, err := usersOf(set.Entries)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, users); d != "" {
			t.Errorf("note %d (-rows +set):\n%s", id, d)
		}
	}
	if n := p.note.count(t, id); n != len(want) {
		t.Errorf("note %d: got count %d, want %d", id, n, len(want))
	}
	if len(want) == 0 {
		want = nil
	}
	wantFirst(t, p.notes, id, 100, want...)
}

// likedBy returns the targets that a user likes by the rows, oldest first.
func (s *Service) likedBy(t *testing.T, user int64) (ids []int64) {
	t.Helper()
	for _, r := range s.db.Like.Query().Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.UserID(user)).Order(entlike.ByTargetID()).AllX(t.Context()) {
		ids = append(ids, r.TargetID)
	}
	return ids
}

func TestLikerPageSizeIsBounded(t *testing.T) {
	s := open(t, storetest.Real(t)).notes
	for _, first := range []int{-1, 0, 101} {
		if _, err := s.FirstLikers(t.Context(), upTo(1), first); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("first %d: got %v", first, err)
		}
	}
}
