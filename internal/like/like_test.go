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
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestALikeCountsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1, 2)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			steps := []struct {
				name   string
				do     func() error
				likers []int64
				told   []int64 // targets whose writers told of them
			}{
				{"nobody likes it", func() error { return nil }, nil, nil},
				{"ann does", func() error { return s.Like(t.Context(), ann, 1) }, []int64{ann}, []int64{1}},
				{"and again", func() error { return s.Like(t.Context(), ann, 1) }, []int64{ann}, nil},
				{"bob does", func() error { return s.Like(t.Context(), bob, 1) }, []int64{ann, bob}, []int64{1}},
				{"ann no more", func() error { return s.Unlike(t.Context(), ann, 1) }, []int64{bob}, []int64{1}},
				{"and again", func() error { return s.Unlike(t.Context(), ann, 1) }, []int64{bob}, nil},
				{"cid never did", func() error { return s.Unlike(t.Context(), cid, 1) }, []int64{bob}, nil},
				{"bob no more", func() error { return s.Unlike(t.Context(), bob, 1) }, nil, []int64{1}},
			}
			for _, step := range steps {
				if err := step.do(); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				told, _ := r.heard()
				if d := cmp.Diff(step.told, told); d != "" {
					t.Errorf("%s: told (-want +got):\n%s", step.name, d)
				}
				if n := r.count(t, 1); n != len(step.likers) {
					t.Errorf("%s: %d likes are counted, want %d", step.name, n, len(step.likers))
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
			if n := p.waits(t); n != 0 {
				t.Errorf("%d jobs were left to the outbox", n)
			}
		})
	})
}

func TestWhatIsNotThereCannotBeLiked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1)
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
			t.Errorf("what nobody likes can be liked no more: %v", err)
		}
		if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
			t.Errorf("something was written (-before +after):\n%s", d)
		}
	})
}

func TestALikeReturnsTheCount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1, 2)
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
					t.Errorf("%s: %d, %v, %v, want %d and %v", step.name, likes, known, err, step.likes, step.known)
				}
			}
			calls := make([]func() error, 3)
			for i := range calls {
				calls[i] = func() error {
					likes, known, err := s.LikeAndCount(t.Context(), 30+int64(i), 1)
					if likes != 5 || !known { // the count of the commit
						t.Errorf("in a group: %d, %v, want 5", likes, known)
					}
					return err
				}
			}
			if err := errors.Join(inOneGroup(t, r, s.likes, func() error { return s.Like(t.Context(), cid, 2) }, calls...)...); err != nil {
				t.Error(err)
			}
		})
	})
}

// The rank of a note among hot ones is that of bonus in internal/note/hot.go.
func TestALikeRaisesTheRank(t *testing.T) {
	p := open(t, storetest.Real(t)) // in SQLite package note computes it
	p.furnish(t, 1, 2)
	const created, week = 1_700_000_000_000, 7 * 24 * 60 * 60 * 1000
	rank := func(likes int) int64 { return created + int64(math.Round(week*math.Log10(1+float64(likes)))) }
	wants := func(id int64, likes int) {
		t.Helper()
		row := p.db.NoteCount.GetX(t.Context(), id)
		if row.Likes != likes || row.Hot != rank(likes) {
			t.Errorf("note %d has %d likes and rank %d, want %d and %d", id, row.Likes, row.Hot, likes, rank(likes))
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

// meet returns a hook that lets the first two callers go on together.
func meet() func(context.Context) error {
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

func TestWhatIsAsItShouldBeTakesNoLock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1)
		like(t, p.notes, 1, ann)
		if p.from.Dialect == dialect.Postgres {
			tx, err := p.db.Tx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			tx.NoteCount.Query().Where(notecount.ID(1)).Modify(sqldb.ForUpdate).OnlyX(t.Context())
		} else {
			p.note.hook(func(context.Context) error { return errors.New("somebody locks it") })
		}
		like(t, p.notes, 1, ann)
		unlike(t, p.notes, 1, bob)
	})
}

// The race W22: both taps have looked before one of them writes.
func TestOfTwoTapsThatRaceOneCounts(t *testing.T) {
	on := storetest.Real(t) // SQLite has one writer at a time
	processes := []*process{open(t, on), open(t, on)}
	processes[0].furnish(t, 1)
	for _, kind := range []Kind{Note, Comment} {
		services := make([]*Service, len(processes))
		rooms := make([]*targets, len(processes))
		for i, p := range processes {
			services[i], rooms[i] = p.notes, p.note
			if kind == Comment {
				services[i], rooms[i] = p.comments, p.comment
			}
		}
		s, r := services[0], rooms[0]
		for _, tap := range []struct {
			name string
			do   func(s *Service, ctx context.Context, user, id int64) error
			want []int64
		}{
			{"like", (*Service).Like, []int64{ann}},
			{"unlike", (*Service).Unlike, []int64{}},
		} {
			both := meet()
			var taps sync.WaitGroup
			for i, s := range services {
				rooms[i].hook(both)
				taps.Go(func() {
					if err := tap.do(s, t.Context(), ann, 1); err != nil {
						t.Errorf("%s a %s: %v", tap.name, s.noun(), err)
					}
				})
			}
			taps.Wait()
			if got := s.likersOf(t, 1); !slices.Equal(got, tap.want) || r.count(t, 1) != len(tap.want) {
				t.Errorf("%s: %v like the %s and %d are counted, want %v", tap.name, got, s.noun(), r.count(t, 1), tap.want)
			}
		}
	}
}

// inOneGroup makes calls that share a transaction. A first call keeps its group waiting at
// the lock until all others wait for the next group.
func inOneGroup(t *testing.T, r *targets, b *batch.Batcher[Draft, result], first func() error, others ...func() error) []error {
	t.Helper()
	started, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.hook(func(context.Context) error {
		once.Do(func() { close(started); <-goOn })
		return nil
	})
	var all sync.WaitGroup
	all.Go(func() {
		if err := first(); err != nil {
			t.Error(err)
		}
	})
	<-started
	errs := make([]error, len(others))
	for i, call := range others {
		all.Go(func() { errs[i] = call() })
		testkit.Eventually(t, 10*time.Second, func() bool { n, _ := b.Waiting(); return n == i+1 })
	}
	close(goOn)
	all.Wait()
	r.hook(nil)
	return errs
}

func TestCallersOfOneMomentShareATransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1, 2, 3)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			ann, bob, cid, dan, eve := ann, bob, cid, int64(14), int64(15)
			if s.kind == Comment { // their limit counts likes of both kinds
				ann, bob, cid, dan, eve = 21, 22, 23, 24, 25
			}
			like(t, s, 2, bob)
			s.quota = limitOf(p, 4)
			for range 4 { // cid has used the limit
				if err := s.quota.Take(t.Context(), cid).Wait(); err != nil {
					t.Fatal(err)
				}
			}
			likes := []struct{ user, id int64 }{{bob, 1}, {ann, 1}, {ann, 404}, {bob, 2}, {ann, 2}, {ann, 1}, {cid, 1}, {eve, 2}}
			var calls []func() error
			for _, c := range likes {
				calls = append(calls, func() error { return s.Like(t.Context(), c.user, c.id) })
			}
			r.heard()
			errs := inOneGroup(t, r, s.likes, func() error { return s.Like(t.Context(), dan, 3) }, calls...)
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
			if told, _ := r.heard(); !slices.Equal(told, []int64{3, 1, 2}) {
				t.Errorf("the counts of %v were updated, want each once", told)
			}
			wantFirst(t, s, 1, 10, bob, ann)
			wantFirst(t, s, 2, 10, bob, ann, eve)

			unlikes := []struct{ user, id int64 }{{bob, 1}, {ann, 404}, {bob, 1}, {cid, 1}, {eve, 2}, {bob, 2}}
			calls = nil
			for _, c := range unlikes {
				calls = append(calls, func() error { return s.Unlike(t.Context(), c.user, c.id) })
			}
			for i, err := range inOneGroup(t, r, s.unlikes, func() error { return s.Unlike(t.Context(), dan, 3) }, calls...) {
				if err != nil {
					t.Errorf("unlike %v: %v", unlikes[i], err)
				}
			}
			for id, want := range map[int64][]int64{1: {ann}, 2: {ann}, 3: {}} {
				if got := s.likersOf(t, id); !slices.Equal(got, want) || r.count(t, id) != len(want) {
					t.Errorf("%v like %s %d and %d are counted, want %v", got, s.noun(), id, r.count(t, id), want)
				}
			}
			wantFirst(t, s, 1, 10, ann)
			wantLiked(t, s, bob, []int64{1, 2})
			for user, want := range map[int64]int{ann: 2, bob: 3, dan: 2, eve: 2} { // changes, and no repeats or failures
				for n := range 4 - want {
					if err := s.quota.Take(t.Context(), user).Wait(); err != nil {
						t.Errorf("user %d has used %d of the limit too much", user, 4-want-n)
					}
				}
				if err := s.quota.Take(t.Context(), user).Wait(); err == nil {
					t.Errorf("of user %d fewer than %d changes are counted", user, want)
				}
			}
			if n := p.waits(t); n != 0 {
				t.Errorf("%d jobs were left to the outbox", n)
			}
		})
	})
}

// A count that is too low keeps nobody from taking a like back.
func TestWhatIsNotCountedCanBeTakenBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1)
		like(t, p.notes, 1, ann)
		p.db.NoteCount.UpdateOneID(1).SetLikes(0).ExecX(t.Context())
		unlike(t, p.notes, 1, ann)
		p.agree(t, 1)
	})
}

// Between the look of an unlike and its lock the user takes the like back elsewhere, and
// likes the target again.
func TestAnUnlikeLeavesALikeThatCameAfterItsLook(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.furnish(t, 1)
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
		t.Errorf("%d likes are counted, want the second one", n)
	}
	wantFirst(t, p.notes, 1, 10, ann)
}

type undone struct{}

func (undone) Error() string    { return "deadlock detected" }
func (undone) SQLState() string { return "40P01" }

func TestALikeThatWasUndoneForAnotherTransactionIsRepeatedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1, 2)
		for id, times := range map[int64]int{1: 1, 2: 2} {
			left := times
			p.note.hook(func(context.Context) error {
				if left--; left >= 0 {
					return fmt.Errorf("update: %w", undone{})
				}
				return nil
			})
			err := p.notes.Like(t.Context(), ann, id)
			if times == 1 && (err != nil || p.note.count(t, id) != 1) || times == 2 && !errors.Is(err, undone{}) {
				t.Errorf("undone %d times: %v", times, err)
			}
		}
	})
}

func TestALikeDoesNotEndWithItsRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1)
		wantFirst(t, p.notes, 1, 10)
		ctx, leave := context.WithCancel(t.Context())
		p.note.hook(func(context.Context) error { leave(); return nil })
		if err := p.notes.Like(ctx, ann, 1); err != nil {
			t.Fatal(err)
		}
		wantFirst(t, p.notes, 1, 10, ann)
		if err := p.notes.Like(ctx, bob, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a like of who had left before: %v", err)
		}
	})
}

func TestAWriterThatDiesAfterItsCommitIsMadeUpFor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dying, other := open(t, on), open(t, on)
		other.furnish(t, 1, 2)
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
		dying.wire.Away.Store(true) // nobody hears its last words
		like(t, dying.notes, 1, ann)
		unlike(t, dying.notes, 2, bob)
		if got := shown(); !slices.Equal(got, []int64{bob}) {
			t.Fatalf("the sets say %v: the test tests nothing", got)
		}
		other.note.heard()
		storetest.Relay(t, other.box)
		testkit.Eventually(t, 20*time.Second, func() bool { return slices.Equal(shown(), []int64{ann, 1}) })
		testkit.Eventually(t, 20*time.Second, func() bool { return other.waits(t) == 0 })
		_, forgot := other.note.heard()
		slices.Sort(forgot)
		if d := cmp.Diff(upTo(2), slices.Compact(forgot)); d != "" {
			t.Errorf("notes whose counts were forgotten (-want +got):\n%s", d)
		}
	})
}

func TestTheRowsAnswerWhileRedisIsAway(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, upTo(300)...)
		var drafts []Draft
		for id := range int64(300) {
			drafts = append(drafts, Draft{id + 1, ann})
		}
		plant(t, p.notes, drafts...)
		p.wire.Away.Store(true)
		like(t, p.notes, 1, bob)
		unlike(t, p.notes, 7, ann)
		wantFirst(t, p.notes, 1, 10, ann, bob)
		wantLiked(t, p.notes, ann, []int64{300, 7, 8, 200}, 300, 8, 200)
		if n := p.waits(t); n != 2 {
			t.Errorf("%d jobs wait, want those of the like and the unlike", n)
		}
	})
}

// Several users like and unlike at random, from two processes, while others read.
func TestRowsCountsAndSetsAgreeAfterManyTaps(t *testing.T) {
	const notes, users, writers, taps = 3, 25, 6, 40
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := testkit.Seed(t)
		processes := []*process{open(t, on), open(t, on)}
		processes[0].furnish(t, upTo(notes)...)
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
		if n := p.waits(t); n != 0 {
			t.Errorf("%d jobs were left to the outbox", n)
		}
	})
}

// agree compares the rows of a note with all that is said of them. What Redis has is
// looked at before a reader could rebuild it.
func (p *process) agree(t *testing.T, id int64) {
	t.Helper()
	want := p.notes.likersOf(t, id)
	if set := kept(t, p.notes.likers, id); set != nil {
		users, err := usersOf(set.Entries)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, users); d != "" {
			t.Errorf("note %d: the set (-rows +set):\n%s", id, d)
		}
	}
	if n := p.note.count(t, id); n != len(want) {
		t.Errorf("note %d counts %d likes, and there are %d", id, n, len(want))
	}
	if len(want) == 0 {
		want = nil
	}
	wantFirst(t, p.notes, id, 100, want...)
}

// likedBy are the targets that a user likes by the rows, the oldest first.
func (s *Service) likedBy(t *testing.T, user int64) (ids []int64) {
	t.Helper()
	for _, r := range s.db.Like.Query().Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.UserID(user)).Order(entlike.ByTargetID()).AllX(t.Context()) {
		ids = append(ids, r.TargetID)
	}
	return ids
}

func TestAPageOfLikersIsOneToAHundred(t *testing.T) {
	s := open(t, storetest.Real(t)).notes
	for _, first := range []int{-1, 0, 101} {
		if _, err := s.FirstLikers(t.Context(), upTo(1), first); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("first %d: %v", first, err)
		}
	}
}
