package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/fanout"
	"github.com/tandian-dev/tandian/ent/feedstar"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Topic is that of this room's jobs in the outbox: ids of notes that are to be pushed.
const Topic = "feed"

// authorsAtOnce is the notes of how many authors one round of a fan-out pushes, a batch of
// followers of each.
const authorsAtOnce = 16

// roundsAtOnce is how many rounds a process has under way, over all jobs: each holds the
// followers of all its batches in memory.
const roundsAtOnce = 2

// errGoesOn ends a turn of a fan-out that has more to do: the next one, here or elsewhere,
// goes on behind its last batch.
var errGoesOn = errors.New("the fan-out goes on")

// EnqueueFanOut has tx bring notes to those who follow their authors: after its commit they are in
// every feed at once, and on their way to the inboxes. authors has the author of each note,
// whose rows tx holds locked, followers how many follow each of them.
//
// Who has too many followers is a star from this note on, in the same transaction: so
// whoever sees the note knows that it was not pushed. It returns those.
func (s *Service) EnqueueFanOut(ctx context.Context, tx *ent.Tx, authors map[int64]int64, followers map[int64]int) (stars map[int64]bool, err error) {
	var push []int64
	stars = map[int64]bool{}
	for note, author := range authors {
		if followers[author] >= s.cfg.Threshold {
			stars[author] = true
		} else {
			push = append(push, note)
		}
	}
	if len(stars) > 0 {
		if err := s.promote(ctx, tx, slices.Sorted(maps.Keys(stars))); err != nil {
			return nil, err
		}
	}
	slices.Sort(push)
	_, err = outbox.AddBatch(ctx, s.outbox, tx, Topic, push...)
	return stars, err
}

func (s *Service) promote(ctx context.Context, tx *ent.Tx, authors []int64) error {
	known, err := tx.FeedStar.Query().Where(feedstar.IDIn(authors...)).IDs(ctx)
	if err != nil {
		return fmt.Errorf("look for %d stars: %w", len(authors), err)
	}
	var writes []*ent.FeedStarCreate
	for _, author := range authors {
		if !slices.Contains(known, author) { // nobody else makes it one: its row is locked
			writes = append(writes, tx.FeedStar.Create().SetID(author).SetCreatedAt(s.cfg.Now().UnixMilli()))
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := tx.FeedStar.CreateBulk(writes...).Exec(ctx); err != nil {
		return fmt.Errorf("insert %d stars: %w", len(writes), err)
	}
	return nil
}

// FanOutCommitted is called after the commit of Deliver's transaction. It does not wait.
func (s *Service) FanOutCommitted() { s.outbox.Wake() }

// A fanOutJob is a note on its way to the followers of its author.
type fanOutJob struct {
	entry
	created int64 // milliseconds since 1970
	below   int64 // follows with lower ids are to come
	begun   bool  // there is a row of its progress
}

// fanOut is what a job says. It may be repeated, and done twice at once: an inbox takes a note
// any number of times, and of two attempts at one note the one that was overtaken ends.
//
// Followers are taken from the newest on. Whoever follows from now on gets the note when his
// inbox is read: it is older than his follow.
func (s *Service) fanOut(ctx context.Context, notes ...int64) error {
	pushes, err := s.pushes(ctx, notes)
	if err != nil {
		return outbox.Transient(err)
	}
	until := endOfTurn(ctx)
	for len(pushes) > 0 {
		if time.Now().After(until) {
			return outbox.Transient(cmp.Or(s.remember(ctx, notes, pushes), errGoesOn))
		}
		if pushes, err = s.round(ctx, pushes); err != nil {
			return outbox.Transient(err) // Redis is away, or the database
		}
	}
	if _, err := s.db.FanOut.Delete().Where(fanout.IDIn(notes...)).Exec(ctx); err != nil {
		return outbox.Transient(fmt.Errorf("delete how far %d fan-outs were: %w", len(notes), err))
	}
	return nil
}

// remember writes down which notes of a job are done, before its turn ends: the next one goes
// on with the others.
func (s *Service) remember(ctx context.Context, notes []int64, left []fanOutJob) error {
	var writes []*ent.FanOutCreate
	for _, note := range notes {
		if !slices.ContainsFunc(left, func(p fanOutJob) bool { return p.note == note }) {
			writes = append(writes, s.db.FanOut.Create().SetID(note).SetBelow(0).SetPushed(0))
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := s.db.FanOut.CreateBulk(writes...).OnConflictColumns(fanout.FieldID).UpdateBelow().Exec(ctx); err != nil {
		return fmt.Errorf("write down that %d notes are pushed: %w", len(writes), err)
	}
	return nil
}

// ResetFanOut forgets how far fan-outs are: a Redis lost what they had pushed. Jobs that are
// replayed after it begin with the first follower.
func (s *Service) ResetFanOut(ctx context.Context) error {
	if _, err := s.db.FanOut.Delete().Exec(ctx); err != nil {
		return fmt.Errorf("forget how far fan-outs are: %w", err)
	}
	return nil
}

// endOfTurn is when a job has had half of what it may take: what is left then goes on with the
// next turn.
func endOfTurn(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok { // the outbox sets one
		return time.Now().Add(time.Hour)
	}
	return time.Now().Add(time.Until(deadline) / 2)
}

// pushes reads the notes and how far they are. What was deleted is not pushed.
func (s *Service) pushes(ctx context.Context, notes []int64) ([]fanOutJob, error) {
	rows, err := s.db.Note.Query().Where(entnote.IDIn(notes...), entnote.DeletedAtIsNil(), entnote.SeqNotNil()).
		Select(entnote.FieldID, entnote.FieldSeq, entnote.FieldAuthorID, entnote.FieldCreatedAt).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d notes: %w", len(notes), err)
	}
	progress, err := s.db.FanOut.Query().Where(fanout.IDIn(notes...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select how far %d fan-outs are: %w", len(notes), err)
	}
	far := make(map[int64]*ent.FanOut, len(progress))
	for _, p := range progress {
		far[p.ID] = p
	}
	pushes := make([]fanOutJob, 0, len(rows))
	for _, r := range rows {
		one := fanOutJob{entry: entry{seq: *r.Seq, note: r.ID, author: r.AuthorID}, created: r.CreatedAt, below: math.MaxInt64}
		if p := far[r.ID]; p != nil {
			one.below, one.begun = p.Below, true
		}
		if one.below > 0 { // else it is done, and others of its job are not
			pushes = append(pushes, one)
		}
	}
	return pushes, nil
}

// round pushes a batch of some of the notes, writes down how far they are, and returns those
// that are not done.
func (s *Service) round(ctx context.Context, pushes []fanOutJob) (left []fanOutJob, err error) {
	// Those that are nearest to their beginning come first, so that the notes of one author
	// go on together; of each author those that are equally far.
	slices.SortFunc(pushes, func(a, b fanOutJob) int {
		return cmp.Or(cmp.Compare(b.below, a.below), cmp.Compare(a.author, b.author), cmp.Compare(a.seq, b.seq))
	})
	var asks []cache.ListRange[int64]
	at := map[int64]int64{} // author → below
	var now []fanOutJob
	for _, p := range pushes {
		below, taken := at[p.author]
		switch {
		case taken && below == p.below:
			now = append(now, p)
		case !taken && len(at) < authorsAtOnce && (len(asks) == 0 || asks[0].Before == p.below):
			at[p.author] = p.below
			asks = append(asks, cache.ListRange[int64]{Owner: p.author, Before: p.below, Limit: s.cfg.Batch})
			now = append(now, p)
		default:
			left = append(left, p)
		}
	}
	select {
	case s.rounds <- struct{}{}:
		defer func() { <-s.rounds }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	followers, err := s.cfg.Follows.Followers(ctx, asks)
	if err != nil {
		return nil, fmt.Errorf("read followers: %w", err)
	}
	lists := map[int64][]cache.Entry{}
	for _, p := range now {
		for _, f := range followers[p.author] {
			lists[f.ID] = append(lists[f.ID], p.cacheEntry())
		}
	}
	if err := s.inboxes.Window().AddEach(ctx, lists); err != nil {
		return nil, err
	}
	for _, p := range now {
		some := followers[p.author]
		s.m.pushed.Add(float64(len(some)))
		if len(some) < s.cfg.Batch {
			s.m.fanOuts.Observe(s.cfg.Now().Sub(time.UnixMilli(p.created)).Seconds())
			continue
		}
		if err := s.progress(ctx, &p, some[len(some)-1].Pos, len(some)); err != nil {
			return nil, err
		}
		left = append(left, p)
	}
	return left, nil
}

// errElsewhere ends an attempt that is not the only one: another one has come further, has
// ended, or has to begin anew.
var errElsewhere = errors.New("another attempt pushes this note")

// progress writes down that followers of a note were done, down to a follow. It fails if what
// is written there is not what this attempt left.
func (s *Service) progress(ctx context.Context, p *fanOutJob, below int64, pushed int) error {
	if !p.begun {
		err := s.db.FanOut.Create().SetID(p.note).SetBelow(below).SetPushed(pushed).Exec(ctx)
		if ent.IsConstraintError(err) {
			return errElsewhere
		}
		if err != nil {
			return fmt.Errorf("write down how far note %d is: %w", p.note, err)
		}
	} else {
		n, err := s.db.FanOut.Update().Where(fanout.ID(p.note), fanout.Below(p.below)).SetBelow(below).AddPushed(pushed).Save(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("write down how far note %d is: %w", p.note, err)
		case n == 0:
			return errElsewhere
		}
	}
	p.begun, p.below = true, below
	return nil
}
