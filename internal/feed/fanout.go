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

// Topic is the outbox topic of fan-outs. A job holds the ids of notes to push.
const Topic = "feed"

// authorsAtOnce is the maximum number of authors per round of a fan-out. A round pushes to one
// batch of followers of each.
const authorsAtOnce = 16

// roundsAtOnce limits the concurrent rounds of a process, because each holds the followers of its
// batches in memory.
const roundsAtOnce = 2

// errUnfinished ends a run of a fan-out that has more to do. The next run, in any process,
// continues after its last batch.
var errUnfinished = errors.New("fan-out is unfinished")

// EnqueueFanOut adds the fan-out of notes to tx. After the commit, every feed shows them, and
// fan-outs push them to the inboxes. authors maps each note to its author, whose row tx must have
// locked. followers maps each author to the number of followers.
//
// An author with too many followers becomes a celebrity in the same transaction. So any reader
// that sees the note knows that it is not pushed. EnqueueFanOut returns these celebrities.
func (s *Service) EnqueueFanOut(ctx context.Context, tx *ent.Tx, authors map[int64]int64, followers map[int64]int) (celebrities map[int64]bool, err error) {
	var push []int64
	celebrities = map[int64]bool{}
	for note, author := range authors {
		if followers[author] >= s.cfg.Threshold {
			celebrities[author] = true
		} else {
			push = append(push, note)
		}
	}
	if len(celebrities) > 0 {
		if err := s.promote(ctx, tx, slices.Sorted(maps.Keys(celebrities))); err != nil {
			return nil, err
		}
	}
	slices.Sort(push)
	_, err = outbox.AddBatch(ctx, s.outbox, tx, Topic, push...)
	return celebrities, err
}

func (s *Service) promote(ctx context.Context, tx *ent.Tx, authors []int64) error {
	known, err := tx.FeedStar.Query().Where(feedstar.IDIn(authors...)).IDs(ctx)
	if err != nil {
		return fmt.Errorf("select %d celebrities: %w", len(authors), err)
	}
	var writes []*ent.FeedStarCreate
	for _, author := range authors {
		if !slices.Contains(known, author) { // its row is locked: no other transaction inserts it
			writes = append(writes, tx.FeedStar.Create().SetID(author).SetCreatedAt(s.cfg.Now().UnixMilli()))
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := tx.FeedStar.CreateBulk(writes...).Exec(ctx); err != nil {
		return fmt.Errorf("insert %d celebrities: %w", len(writes), err)
	}
	return nil
}

// FanOutCommitted starts the fan-outs of a committed [Service.EnqueueFanOut]. It does not wait.
func (s *Service) FanOutCommitted() { s.outbox.Wake() }

// A fanOutJob is a note to push to the followers of its author.
type fanOutJob struct {
	entry
	created int64 // milliseconds since 1970
	below   int64 // follows with lower ids are left
	saved   bool  // its progress has a row
}

// fanOut handles a job. It may be repeated, and run concurrently: pushes to an inbox are
// idempotent, and of two attempts at one note the slower one ends.
//
// It reads the newest followers first. The inbox of a later follower contains the note when it is
// loaded, because the note is older than the follow.
func (s *Service) fanOut(ctx context.Context, notes ...int64) error {
	pushes, err := s.loadJobs(ctx, notes)
	if err != nil {
		return outbox.Transient(err)
	}
	until := turnDeadline(ctx)
	for len(pushes) > 0 {
		if time.Now().After(until) {
			return outbox.Transient(cmp.Or(s.saveDone(ctx, notes, pushes), errUnfinished))
		}
		if pushes, err = s.runRound(ctx, pushes); err != nil {
			return outbox.Transient(err) // Redis or the database is unavailable
		}
	}
	if _, err := s.db.FanOut.Delete().Where(fanout.IDIn(notes...)).Exec(ctx); err != nil {
		return outbox.Transient(fmt.Errorf("delete progress of %d fan-outs: %w", len(notes), err))
	}
	return nil
}

// saveDone marks the finished notes of an unfinished job, so that the next run skips them.
func (s *Service) saveDone(ctx context.Context, notes []int64, left []fanOutJob) error {
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
		return fmt.Errorf("insert progress of %d notes: %w", len(writes), err)
	}
	return nil
}

// ResetFanOut deletes the progress of all fan-outs. Call it after Redis lost data: jobs replayed
// later begin with the first follower.
func (s *Service) ResetFanOut(ctx context.Context) error {
	if _, err := s.db.FanOut.Delete().Exec(ctx); err != nil {
		return fmt.Errorf("delete progress of fan-outs: %w", err)
	}
	return nil
}

// turnDeadline returns the time at which a job has used half of its time. The next run continues.
func turnDeadline(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok { // the outbox always sets one
		return time.Now().Add(time.Hour)
	}
	return time.Now().Add(time.Until(deadline) / 2)
}

func (s *Service) loadJobs(ctx context.Context, notes []int64) ([]fanOutJob, error) {
	rows, err := s.db.Note.Query().Where(entnote.IDIn(notes...), entnote.DeletedAtIsNil(), entnote.SeqNotNil()).
		Select(entnote.FieldID, entnote.FieldSeq, entnote.FieldAuthorID, entnote.FieldCreatedAt).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d notes: %w", len(notes), err)
	}
	progress, err := s.db.FanOut.Query().Where(fanout.IDIn(notes...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select progress of %d fan-outs: %w", len(notes), err)
	}
	progressOf := make(map[int64]*ent.FanOut, len(progress))
	for _, p := range progress {
		progressOf[p.ID] = p
	}
	pushes := make([]fanOutJob, 0, len(rows))
	for _, r := range rows {
		one := fanOutJob{entry: entry{seq: *r.Seq, note: r.ID, author: r.AuthorID}, created: r.CreatedAt, below: math.MaxInt64}
		if p := progressOf[r.ID]; p != nil {
			one.below, one.saved = p.Below, true
		}
		if one.below > 0 { // 0 is finished, see saveDone
			pushes = append(pushes, one)
		}
	}
	return pushes, nil
}

// runRound pushes a batch of some notes, stores their progress, and returns the unfinished notes.
func (s *Service) runRound(ctx context.Context, pushes []fanOutJob) (left []fanOutJob, err error) {
	// All notes of a round have the same progress, the least of all, so the notes of one author
	// proceed together.
	slices.SortFunc(pushes, func(a, b fanOutJob) int {
		return cmp.Or(cmp.Compare(b.below, a.below), cmp.Compare(a.author, b.author), cmp.Compare(a.seq, b.seq))
	})
	var ranges []cache.ListRange[int64]
	at := map[int64]int64{} // author → below
	var now []fanOutJob
	for _, p := range pushes {
		below, taken := at[p.author]
		switch {
		case taken && below == p.below:
			now = append(now, p)
		case !taken && len(at) < authorsAtOnce && (len(ranges) == 0 || ranges[0].Before == p.below):
			at[p.author] = p.below
			ranges = append(ranges, cache.ListRange[int64]{Owner: p.author, Before: p.below, Limit: s.cfg.Batch})
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
	followers, err := s.cfg.Follows.Followers(ctx, ranges)
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
		if err := s.saveProgress(ctx, &p, some[len(some)-1].Pos, len(some)); err != nil {
			return nil, err
		}
		left = append(left, p)
	}
	return left, nil
}

// errOvertaken ends an attempt at a note whose stored progress another attempt or
// [Service.ResetFanOut] has changed.
var errOvertaken = errors.New("overtaken by another fan-out of this note")

// saveProgress stores that a note was pushed for all follows with ids of at least below. It returns
// errOvertaken if the stored progress is not that of this attempt.
func (s *Service) saveProgress(ctx context.Context, p *fanOutJob, below int64, pushed int) error {
	if !p.saved {
		err := s.db.FanOut.Create().SetID(p.note).SetBelow(below).SetPushed(pushed).Exec(ctx)
		if ent.IsConstraintError(err) {
			return errOvertaken
		}
		if err != nil {
			return fmt.Errorf("store progress of note %d: %w", p.note, err)
		}
	} else {
		n, err := s.db.FanOut.Update().Where(fanout.ID(p.note), fanout.Below(p.below)).SetBelow(below).AddPushed(pushed).Save(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("store progress of note %d: %w", p.note, err)
		case n == 0:
			return errOvertaken
		}
	}
	p.saved, p.below = true, below
	return nil
}
