package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// fans returns an author and followers, each with an inbox.
func (p *feedProcess) fans(t *testing.T, n int) (author int64, fans []int64) {
	t.Helper()
	author = p.newUser(t)
	for range n {
		fan := p.newUser(t)
		if err := p.Follows.Follow(t.Context(), fan, author); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.read(t.Context(), fan, 1, ""); err != nil {
			t.Fatal(err)
		}
		fans = append(fans, fan)
	}
	return author, fans
}

func (p *feedProcess) newUser(t *testing.T) int64 {
	t.Helper()
	user, err := p.on.DB.User.Create().SetNickname("a follower").Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return user.ID
}

// dies runs jobs until the process dies after some batches.
func (p *feedProcess) dies(t *testing.T, batches int64) {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	defer die()
	p.onDeath = die
	p.batches.Store(batches)
	if _, err := p.box.Replay(ctx, 0); !errors.Is(err, outbox.ErrIncomplete) {
		t.Errorf("the process is alive: %v", err)
	}
	p.box.Wait()
	p.batches.Store(-1)
}

// has returns how many inboxes contain a note.
func (p *feedProcess) has(t *testing.T, n *note.Note, fans []int64) (count int) {
	t.Helper()
	for _, fan := range fans {
		key := fmt.Sprintf("%s:feed:in:{%d}", storetest.Prefix, fan)
		if p.on.Redis.ZScore(t.Context(), key, fmt.Sprintf("%d/%d", n.AuthorID, n.ID)).Err() == nil {
			count++
		}
	}
	return count
}

func (p *feedProcess) rowsOfProgress(t *testing.T) int {
	t.Helper()
	return p.on.DB.FanOut.Query().CountX(t.Context())
}

func openFans(t *testing.T, on storetest.Stores, jobs outbox.Options) *feedProcess {
	t.Helper()
	wire := &storetest.FaultyRedis{}
	from := storetest.Open(t, on)
	from.Redis.AddHook(wire)
	return openFeed(t, from, wire, cache.Options{}, jobs, feed.Config{Batch: 2})
}

// If Redis loses inboxes but not the progress of a fan-out, the fan-out restarts from the
// first follower.
func TestFanOutRestartsAfterRedisLoss(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openFans(t, on, outbox.Options{Batch: 1})
		author, fans := p.fans(t, 7)
		n, err := p.publish(t.Context(), author)
		if err != nil {
			t.Fatal(err)
		}
		p.dies(t, 2)
		if got := p.has(t, n, fans); got != 4 || p.rowsOfProgress(t) != 1 {
			t.Fatalf("after two batches, %d inboxes have the note, with %d rows of progress; want 4 and 1", got, p.rowsOfProgress(t))
		}
		for _, fan := range fans { // as on a replica with a lag
			p.on.Redis.ZRem(t.Context(), fmt.Sprintf("%s:feed:in:{%d}", storetest.Prefix, fan), fmt.Sprintf("%d/%d", author, n.ID))
		}
		if err := p.Feed.ResetFanOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.box.Replay(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if got := p.has(t, n, fans); got != len(fans) {
			t.Errorf("%d of %d inboxes have the note", got, len(fans))
		}
	})
}

// The progress of a fan-out is deleted with it, also if the note is deleted meanwhile.
func TestProgressEndsWithItsFanOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openFans(t, on, outbox.Options{Batch: 1})
		author, fans := p.fans(t, 5)
		var notes []*note.Note
		for range 2 {
			n, err := p.publish(t.Context(), author)
			if err != nil {
				t.Fatal(err)
			}
			notes = append(notes, n)
			p.dies(t, 1)
		}
		if n := p.rowsOfProgress(t); n == 0 {
			t.Fatal("no progress is stored, so the test checks nothing")
		}
		if err := p.Notes.Delete(t.Context(), note.Editor{UserID: author}, notes[0].ID); err != nil {
			t.Fatal(err)
		}
		if _, err := p.box.Replay(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got := p.has(t, notes[1], fans); got != len(fans) {
			t.Errorf("%d of %d inboxes have the note", got, len(fans))
		}
		if n := p.rowsOfProgress(t); n != 0 {
			t.Errorf("%d rows of progress are left", n)
		}
	})
}

// A job that reaches its timeout continues with the remaining notes.
func TestFanOutOfManyAuthorsResumes(t *testing.T) {
	t.Parallel()
	const authors = 20 // more than in one round
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openFans(t, on, outbox.Options{Batch: 1, Timeout: 500 * time.Millisecond})
		reader := p.newUser(t)
		var seeds []note.Seed
		for i := range authors {
			author := p.newUser(t)
			if err := p.Follows.Follow(t.Context(), reader, author); err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, note.Seed{ExternalID: fmt.Sprint(i), AuthorID: author, ShopID: 1, Title: "Tea", Content: "Good.", At: time.Now()})
		}
		if _, _, err := p.read(t.Context(), reader, 1, ""); err != nil {
			t.Fatal(err)
		}
		ids, _, err := p.Notes.BulkInsert(t.Context(), seeds, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		p.slow.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a broken job never ends
		defer cancel()
		if _, err := p.box.Replay(ctx, 0); err != nil {
			t.Fatal(err)
		}
		pushed := 0
		for _, row := range p.on.DB.Note.Query().AllX(t.Context()) {
			pushed += p.has(t, &note.Note{ID: row.ID, AuthorID: row.AuthorID}, []int64{reader})
		}
		if pushed != len(ids) || p.rounds.Load() != 2 {
			t.Errorf("%d of %d notes are in the inbox after %d rounds, want all after 2", pushed, len(ids), p.rounds.Load())
		}
		if n := p.rowsOfProgress(t); n != 0 {
			t.Errorf("%d rows of progress are left", n)
		}
	})
}
