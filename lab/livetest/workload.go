package livetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

const (
	slowWriters  = 3                      // slow transactions without the servers
	slowEvery    = 400 * time.Millisecond // mean pause of each
	slowFor      = 400 * time.Millisecond // maximum time between a slow note's id and its number
	numberFor    = 30 * time.Millisecond  // maximum time between a slow note's number and its commit
	actors       = 4                      // goroutines that follow and unfollow
	actEvery     = 150 * time.Millisecond // mean pause of each
	deletedEvery = 10                     // one note in this many is deleted
	deletedAfter = 1500 * time.Millisecond
	headEvery    = 100 * time.Millisecond
	setupWorkers = 8
)

const (
	publishNote = `mutation($i: PublishNoteInput!) { publishNote(input: $i) { note { id } userErrors { code } } }`
	deleteNote  = `mutation($i: ID!) { deleteNote(id: $i) { userErrors { code } } }`
	follow      = `mutation($i: ID!) { follow(userId: $i) { userErrors { code } } }`
	unfollow    = `mutation($i: ID!) { unfollow(userId: $i) { userErrors { code } } }`
	liveCursor  = `query { me { feed(first: 1) { liveCursor } } }`
)

// member is a person with the id in the database.
type member struct {
	faulttest.Person
	id int64
}

func members(people []faulttest.Person) ([]member, error) {
	all := make([]member, len(people))
	for i, p := range people {
		id, err := idOf("User", p.ID)
		if err != nil {
			return nil, fmt.Errorf("read user id: %w", err)
		}
		all[i] = member{p, id}
	}
	return all, nil
}

// workload runs writers and users. Read its fields only after it has ended.
type workload struct {
	world    *faulttest.World
	api      *api
	db       *sql.DB // without proxies
	shop     int64
	authors  []member // all users follow the first one, the beacon, permanently
	users    []member
	cfg      Config
	begin    time.Time
	counters *counters

	mu        sync.Mutex
	follows   map[Pair][]Follow
	ended     map[Pair][]time.Duration // when unfollow requests were answered
	deletes   map[int64]time.Duration
	published map[int64]published
	heads     []head
}

// published holds the request and answer times of a note; its commit is between them.
type published struct{ sent, answered time.Duration }

// head is the head of the feed, read at or shortly after a time.
type head struct {
	at  time.Duration
	seq int64
}

func (w *workload) now() time.Duration { return time.Since(w.begin) }

// followInitial creates the initial follows of all users.
func (w *workload) followInitial(ctx context.Context, r *rand.Rand) error {
	w.follows, w.ended = map[Pair][]Follow{}, map[Pair][]time.Duration{}
	w.deletes, w.published = map[int64]time.Duration{}, map[int64]published{}
	var all sync.WaitGroup
	failed := make([]error, setupWorkers)
	for n := range setupWorkers {
		mine := choicesOf(r.Uint64(), 0)
		all.Go(func() {
			for i := n; i < len(w.users); i += setupWorkers {
				chosen := mine.Perm(len(w.authors) - 1)[:w.cfg.Follows-1]
				for _, a := range append(chosen, -1) {
					if failed[n] = w.follow(ctx, mine, w.users[i], w.authors[a+1]); failed[n] != nil {
						return
					}
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// run runs all writers and users until ctx ends. It completes active operations, unless
// complete ends.
func (w *workload) run(ctx, complete context.Context, r *rand.Rand) error {
	var all sync.WaitGroup
	failed := make(chan error, w.cfg.Writers+slowWriters+actors+1)
	begin := func(do func(ctx, complete context.Context, r *rand.Rand) error) {
		mine := choicesOf(r.Uint64(), 0)
		all.Go(func() { failed <- do(ctx, complete, mine) })
	}
	for range w.cfg.Writers {
		begin(w.write)
	}
	for range slowWriters {
		begin(w.writeSlowly)
	}
	for i := range actors {
		begin(func(ctx, complete context.Context, r *rand.Rand) error {
			return w.followAndUnfollow(ctx, complete, r, i)
		})
	}
	begin(func(ctx, _ context.Context, _ *rand.Rand) error { return w.watchHead(ctx) })
	all.Wait()
	close(failed)
	var err error
	for one := range failed {
		err = errors.Join(err, one)
	}
	return err
}

func pause(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// write publishes notes and deletes some of them later.
func (w *workload) write(ctx, complete context.Context, r *rand.Rand) error {
	mean := time.Duration(float64(w.cfg.Writers) / w.cfg.Rate * float64(time.Second))
	var deleting sync.WaitGroup
	defer deleting.Wait()
	for clock.Sleep(ctx, pause(r, mean)) == nil {
		author := pick(r, w.authors)
		note, err := w.publish(complete, r.IntN(w.world.Servers()), author)
		if err != nil {
			w.counters.add("notes with unknown result")
			continue
		}
		if r.IntN(deletedEvery) == 0 {
			mine := choicesOf(r.Uint64(), 0)
			deleting.Go(func() {
				_ = clock.Sleep(ctx, pause(mine, deletedAfter)) // shorter if ctx ends
				w.remove(complete, mine, author, note)
			})
		}
	}
	return nil
}

// publish publishes a note on one server and returns its id.
func (w *workload) publish(ctx context.Context, server int, author member) (int64, error) {
	sent := w.now()
	got, err := w.api.call(ctx, server, author.Person, publishNote, map[string]any{"i": map[string]any{
		"shopId": scalar.ID{Type: "Shop", N: w.shop}.String(), "title": "a live note", "content": strconv.FormatInt(int64(sent), 10),
	}})
	if err != nil {
		return 0, err
	}
	if got.Data.PublishNote == nil || got.Data.PublishNote.Note == nil {
		return 0, errors.New("publish note: answer has no note")
	}
	note, err := idOf("Note", got.Data.PublishNote.Note.ID)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.published[note] = published{sent, w.now()}
	return note, nil
}

// remove deletes a note.
func (w *workload) remove(ctx context.Context, r *rand.Rand, author member, note int64) {
	w.mu.Lock()
	w.deletes[note] = w.now()
	w.mu.Unlock()
	// A retry after a lost answer is refused.
	_, err := w.api.callUntilDone(ctx, r, author.Person, deleteNote, map[string]any{"i": scalar.ID{Type: "Note", N: note}.String()})
	if err != nil && !errors.Is(err, errRefused) {
		w.counters.add("notes with unconfirmed deletion")
	}
}

// writeSlowly publishes in slow transactions: they pause after assigning the note's id, and
// before the commit. So the order of ids differs from that of commits. Some transactions roll
// back. The servers get no hint about these notes.
func (w *workload) writeSlowly(ctx, complete context.Context, r *rand.Rand) error {
	for clock.Sleep(ctx, pause(r, slowEvery)) == nil {
		if err := w.slowly(complete, r, pick(r, w.authors)); err != nil {
			return fmt.Errorf("publish slow note: %w", err)
		}
	}
	return nil
}

func (w *workload) slowly(ctx context.Context, r *rand.Rand, author member) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it does nothing after a commit
	now := time.Now().UnixMilli()
	var id, seq int64
	if err := tx.QueryRowContext(ctx, `INSERT INTO notes (author_id, shop_id, title, content, images, created_at)
		VALUES ($1, $2, 'a slow note', 'slow', '[]', $3) RETURNING id`, author.id, w.shop, now).Scan(&id); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO note_counts (id, hot) VALUES ($1, 0)`, id); err != nil {
		return err
	}
	_ = clock.Sleep(ctx, time.Duration(r.Int64N(int64(slowFor))))
	if err := tx.QueryRowContext(ctx, `UPDATE feed_head SET seq = seq + 1 WHERE id = 1 RETURNING seq`).Scan(&seq); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE notes SET seq = $2 WHERE id = $1`, id, seq); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO note_events (seq, kind, note_id, author_id) VALUES ($1, 'ADDED', $2, $3)`, seq, id, author.id); err != nil {
		return err
	}
	_ = clock.Sleep(ctx, time.Duration(r.Int64N(int64(numberFor))))
	if r.IntN(3) == 0 {
		w.counters.add("slow notes rolled back")
		return nil
	}
	w.counters.add("slow notes")
	return tx.Commit()
}

// followAndUnfollow changes the follows of every fourth user. No other goroutine does.
func (w *workload) followAndUnfollow(ctx, complete context.Context, r *rand.Rand, number int) error {
	var mine []member
	for i := number; i < len(w.users); i += actors {
		mine = append(mine, w.users[i])
	}
	if len(mine) == 0 {
		return nil
	}
	for clock.Sleep(ctx, pause(r, actEvery)) == nil {
		user, author := pick(r, mine), pick(r, w.authors[1:])
		do := w.follow
		if w.followed(user, author) {
			do = w.unfollow
		}
		if err := do(complete, r, user, author); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) followed(user, author member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.follows[Pair{user.id, author.id}]
	return len(all) > 0 && !all[len(all)-1].Ended
}

// follow makes a user follow an author. It retries until the request is answered.
func (w *workload) follow(ctx context.Context, r *rand.Rand, user, author member) error {
	if _, err := w.api.callUntilDone(ctx, r, user.Person, follow, map[string]any{"i": author.ID}); err != nil {
		return fmt.Errorf("follow user %d as user %d: %w", author.id, user.id, err)
	}
	var f Follow
	err := w.db.QueryRowContext(ctx, `SELECT since_seq FROM follows WHERE follower_id = $1 AND followee_id = $2`, user.id, author.id).Scan(&f.Since)
	if err != nil {
		return fmt.Errorf("read follow of user %d to user %d: %w", user.id, author.id, err)
	}
	w.counters.add("follows")
	w.mu.Lock()
	defer w.mu.Unlock()
	pair := Pair{user.id, author.id}
	w.follows[pair] = append(w.follows[pair], f)
	return nil
}

// unfollow ends a follow. It retries until the request is answered.
func (w *workload) unfollow(ctx context.Context, r *rand.Rand, user, author member) error {
	requested := w.now()
	if _, err := w.api.callUntilDone(ctx, r, user.Person, unfollow, map[string]any{"i": author.ID}); err != nil {
		return fmt.Errorf("unfollow user %d as user %d: %w", author.id, user.id, err)
	}
	w.counters.add("unfollows")
	w.mu.Lock()
	defer w.mu.Unlock()
	pair := Pair{user.id, author.id}
	last := &w.follows[pair][len(w.follows[pair])-1]
	last.Ended, last.EndRequested = true, requested
	w.ended[pair] = append(w.ended[pair], w.now())
	return nil
}

// watchHead samples the head of the feed.
func (w *workload) watchHead(ctx context.Context) error {
	for clock.Sleep(ctx, headEvery) == nil {
		h := head{at: w.now()}
		if err := w.db.QueryRowContext(ctx, `SELECT seq FROM feed_head WHERE id = 1`).Scan(&h.seq); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the run is over
			}
			return fmt.Errorf("read head of feed: %w", err)
		}
		w.heads = append(w.heads, h)
	}
	return nil
}

// history returns the follows with the last number that may be sent after each unfollow. Call
// it after the run. A stopped server cannot receive the end of a follow, so its leeway begins
// when the server continues.
func (w *workload) history(stopped [][2]time.Duration) map[Pair][]Follow {
	for pair, ends := range w.ended {
		for i, answered := range ends {
			effective := answered + w.cfg.Leeway
			for _, s := range stopped {
				if s[0] <= effective && answered <= s[1] {
					effective = max(effective, s[1]+w.cfg.Leeway)
				}
			}
			late := slices.IndexFunc(w.heads, func(h head) bool { return h.at >= effective })
			if late >= 0 {
				w.follows[pair][i].MaxSeq = w.heads[late].seq
			}
		}
	}
	return w.follows
}

// log reads the log of publications and deletions.
func (w *workload) log(ctx context.Context) (events []Event, err error) {
	rows, err := w.db.QueryContext(ctx, `SELECT seq, kind, note_id, author_id FROM note_events ORDER BY seq`)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e Event
		var kind string
		if err := rows.Scan(&e.Seq, &kind, &e.Note, &e.Author); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		e.Kind = Added
		if kind == "REMOVED" {
			e.Kind = Removed
		}
		if n := len(events); n > 0 && events[n-1].Seq+1 != e.Seq {
			return nil, fmt.Errorf("read log: gap before %d", e.Seq)
		}
		events = append(events, e)
	}
	return events, rows.Err()
}
