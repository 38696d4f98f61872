package bench

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// Feeds publishes notes and reads feeds without HTTP, with all background work of a server.
type Feeds interface {
	// Publish publishes a note by a user and returns its id.
	Publish(ctx context.Context, user int64) (note int64, err error)
	// Page reads a page of a user's feed. It returns the number of notes and the cursor of the next
	// page.
	Page(ctx context.Context, user int64, first int, after string) (notes int, next string, err error)
	// Inbox returns the key of a user's inbox in Redis.
	Inbox(user int64) string
	// DB returns the database.
	DB() *sql.DB
}

// FeedOptions configures [Feed].
type FeedOptions struct {
	Clients   int // concurrent readers
	Followers int // of the author with fan-out
	Fans      int // followers of the celebrity
	Threshold int // followers of a celebrity: more than Followers, at most Fans
	Rounds    int // notes by each author
	Pages     int // reads per line of the table
	// Open opens a server whose celebrities have at least threshold followers.
	Open func(ctx context.Context, databaseURL, redisURL string, threshold int) (f Feeds, stop func() error, err error)
}

const (
	feedReaders     = 64 // of each kind
	feedAuthors     = 80 // follows of each
	feedCelebrities = 5  // additional follows of the second kind
	feedNotes       = 10 // of each of them
	feedPage        = 10 // notes of a page
	feedDeep        = 400
	feedBelow       = 600 // is in no inbox any more
	inboxSize       = 500
	feedPatience    = 2 * time.Minute

	// publishRatio limits the cost of publishing to any number of followers, relative to an author
	// without followers.
	publishRatio = 1.2
)

//go:embed sql/*.sql
var feedFiles embed.FS

// Feed measures the cost of publishing by number of followers, the delay until a note is in the
// inboxes, and page reads. It starts a durable PostgreSQL and a Redis.
func Feed(ctx context.Context, o FeedOptions, out, progress io.Writer) (err error) {
	database, err := subprocess.StartPostgres(ctx)
	if err != nil {
		return fmt.Errorf("bench feed: %w", err)
	}
	defer database.Stop()
	server, err := subprocess.StartRedis(ctx)
	if err != nil {
		return fmt.Errorf("bench feed: %w", err)
	}
	defer server.Stop()
	feeds, stop, err := o.Open(ctx, database.URL, server.URL, o.Threshold)
	if err != nil {
		return fmt.Errorf("open a server to measure: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	rdb, err := subprocess.OpenPatient(server.URL)
	if err != nil {
		return fmt.Errorf("open Redis: %w", err)
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	b := &feedBench{o: o, feeds: feeds, rdb: rdb}
	err = sqldb.ReadStatements(feedFiles, "postgres", map[string]*string{"crowd": &b.sql.crowd, "follows": &b.sql.follows, "counts": &b.sql.counts})
	if err != nil {
		return fmt.Errorf("bench feed: %w", err)
	}
	if err := b.people(ctx, progress); err != nil {
		return err
	}
	return harness.Table(ctx, "feed", []harness.Measurement{
		{Name: "publishing and fan-out", Measure: b.publishing},
		{Name: "pages", Measure: b.pages},
		{Name: "memory", Measure: b.memory},
	}, out, progress)
}

type feedBench struct {
	o     FeedOptions
	feeds Feeds
	rdb   redis.UniversalClient
	sql   struct{ crowd, follows, counts string }

	unfollowed, pushed, celebrity int64 // authors: no followers, fan-out, celebrity
	neutral, alike                int64 // more authors without followers
	crowd                         int64 // the first of their followers; the last one has the newest follow
	plain, celebrityReaders       int64 // the first reader of each kind
}

// people inserts all users, their follows, and the inboxes of the crowd.
func (b *feedBench) people(ctx context.Context, progress io.Writer) error {
	const others = 5 + feedAuthors + feedCelebrities + 2*feedReaders
	fmt.Fprintf(progress, "feed: %d users and their follows\n", b.o.Fans+others)
	first, _, err := b.span(ctx, b.sql.crowd, b.o.Fans+others)
	if err != nil {
		return fmt.Errorf("make users: %w", err)
	}
	b.unfollowed, b.pushed, b.celebrity, b.neutral, b.alike = first, first+1, first+2, first+3, first+4
	authors := first + 5
	celebrities := authors + feedAuthors
	b.plain = celebrities + feedCelebrities
	b.celebrityReaders = b.plain + feedReaders
	b.crowd = b.celebrityReaders + feedReaders
	var follows int64 // the first of those of the crowd
	for _, group := range []struct {
		follower  int64
		followers int
		author    int64
		authors   int
		first     *int64
	}{
		{follower: b.crowd, followers: b.o.Followers, author: b.pushed, authors: 1, first: &follows},
		{follower: b.crowd, followers: b.o.Fans, author: b.celebrity, authors: 1},
		{follower: b.plain, followers: feedReaders, author: authors, authors: feedAuthors},
		{follower: b.celebrityReaders, followers: feedReaders, author: authors, authors: feedAuthors + feedCelebrities},
	} {
		from, to, err := b.span(ctx, b.sql.follows, group.follower, group.followers, group.author, group.authors)
		if err == nil && to-from+1 != int64(group.followers*group.authors) {
			err = fmt.Errorf("got ids %d to %d", from, to)
		}
		if err != nil {
			return fmt.Errorf("make %d follows: %w", group.followers*group.authors, err)
		}
		if group.first != nil {
			*group.first = from
		}
	}
	for _, count := range [][]any{
		{b.pushed, 1, b.o.Followers},
		{b.celebrity, 1, b.o.Fans},
		{authors, feedAuthors, 2 * feedReaders},
		{celebrities, feedCelebrities, b.o.Threshold}, // only the number of these followers matters
	} {
		if _, err := b.feeds.DB().ExecContext(ctx, b.sql.counts, count...); err != nil {
			return fmt.Errorf("count followers: %w", err)
		}
	}
	for _, maintenance := range []string{"VACUUM ANALYZE users, follows", "CHECKPOINT"} { // otherwise autovacuum may run during a measurement
		if _, err := b.feeds.DB().ExecContext(ctx, maintenance); err != nil {
			return fmt.Errorf("maintain the tables: %w", err)
		}
	}
	fmt.Fprintf(progress, "feed: %d inboxes and %d notes\n", b.o.Followers, feedNotes*(feedAuthors+feedCelebrities))
	if err := b.inboxes(ctx, follows); err != nil {
		return err
	}
	for range feedNotes {
		for author := authors; author < celebrities+feedCelebrities; author++ {
			if _, err := b.feeds.Publish(ctx, author); err != nil {
				return err
			}
		}
	}
	return b.drained(ctx)
}

func (b *feedBench) span(ctx context.Context, statement string, args ...any) (from, to int64, err error) {
	err = b.feeds.DB().QueryRowContext(ctx, statement, args...).Scan(&from, &to)
	return from, to, err
}

// inboxes creates empty inboxes of the crowd, complete up to a user's only follow, in the format of
// a union of internal/kit/cache.
func (b *feedBench) inboxes(ctx context.Context, follows int64) error {
	const life = 14 * 24 * time.Hour
	return b.each(ctx, func(pipe redis.Pipeliner, i int64) {
		name := b.feeds.Inbox(b.crowd + i)
		pipe.Do(ctx, "ZADD", name, "-inf", "")
		pipe.PExpire(ctx, name, life)
		pipe.Set(ctx, name+":s", follows+i, life)
	})
}

// each sends commands for each follower of the author with fan-out.
func (b *feedBench) each(ctx context.Context, commands func(pipe redis.Pipeliner, i int64)) error {
	pipe := b.rdb.Pipeline()
	for i := range int64(b.o.Followers) {
		commands(pipe, i)
		if pipe.Len() >= 1500 || i == int64(b.o.Followers)-1 {
			if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
				return fmt.Errorf("send commands for inboxes: %w", err)
			}
		}
	}
	return nil
}

// drained waits until no fan-out job is pending.
func (b *feedBench) drained(ctx context.Context) error {
	return b.until(ctx, "all notes are pushed", func() (bool, error) {
		var n int
		err := b.feeds.DB().QueryRowContext(ctx, "SELECT count(*) FROM outbox_jobs WHERE topic = 'feed' AND done_at IS NULL").Scan(&n)
		return n == 0, err
	})
}

func (b *feedBench) until(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, feedPatience)
	defer cancel()
	for {
		yes, err := is()
		if err == nil && !yes {
			err = clock.Sleep(ctx, time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if yes {
			return nil
		}
	}
}

// publishing measures four authors in turns: without followers, with fan-out, a celebrity, and a
// second one without followers, which shows the noise. Before each turn all pushes are done, and
// a fifth author publishes a note, because seconds of fan-out change memory and CPU state.
func (b *feedBench) publishing(ctx context.Context) ([]harness.Row, error) {
	authors := []int64{b.unfollowed, b.pushed, b.celebrity, b.alike}
	var took [4]harness.Samples
	var first, last harness.Samples
	var note int64 // the last one that was pushed
	rnd := rand.New(rand.NewPCG(1, 0))
	for round := range b.o.Rounds + 1 {
		for _, i := range rnd.Perm(len(authors)) {
			if _, err := b.feeds.Publish(ctx, b.neutral); err != nil {
				return nil, err
			}
			if err := b.drained(ctx); err != nil {
				return nil, err
			}
			begin := time.Now()
			made, err := b.feeds.Publish(ctx, authors[i])
			if err != nil {
				return nil, err
			}
			published := time.Now()
			if authors[i] == b.pushed {
				note = made
				soon, late, err := b.arrives(ctx, made)
				if err != nil {
					return nil, err
				}
				if round > 0 {
					first, last = append(first, soon.Sub(published)), append(last, late.Sub(published))
				}
			}
			if round > 0 { // the first one is a warm-up
				took[i] = append(took[i], published.Sub(begin))
			}
			if err := b.drained(ctx); err != nil {
				return nil, err
			}
		}
	}
	have, err := b.have(ctx, note)
	if err != nil {
		return nil, err
	}
	row := func(what string, t harness.Samples) harness.Row {
		return harness.Row{What: "publishing, " + what, Measured: fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", harness.Millis(t.Percentile(50)), harness.Millis(t.Percentile(99)))}
	}
	ratio := func(t harness.Samples) float64 { return float64(t.Percentile(50)) / float64(took[0].Percentile(50)) }
	goal := func(t harness.Samples) harness.Row {
		r := ratio(t)
		return harness.Row{What: "÷ no follower", Measured: fmt.Sprintf("%.2f", r), Goal: fmt.Sprintf("≤ %.1f", publishRatio), Met: r <= publishRatio}
	}
	whole := last.Percentile(50)
	return []harness.Row{
		row("no follower", took[0]),
		{What: "÷ no follower, of another one without", Measured: fmt.Sprintf("%.2f", ratio(took[3]))},
		row(fmt.Sprintf("%d followers, all with inboxes", b.o.Followers), took[1]), goal(took[1]),
		row(fmt.Sprintf("%d followers, a celebrity", b.o.Fans), took[2]), goal(took[2]),
		{What: "from publishing to the first inbox", Measured: fmt.Sprintf("p50 %.1f ms", harness.Millis(first.Percentile(50)))},
		{What: fmt.Sprintf("from publishing to the last of %d", b.o.Followers), Measured: fmt.Sprintf("p50 %.0f ms, longest %.0f ms", harness.Millis(whole), harness.Millis(last.Percentile(100)))},
		{What: "fan-out, inboxes", Measured: perSecond(float64(b.o.Followers) / whole.Seconds())},
		{What: "inboxes that have the last note", Measured: strconv.Itoa(have), Goal: strconv.Itoa(b.o.Followers), Met: have == b.o.Followers},
	}, nil
}

// arrives returns when a note was in the inbox of the newest follower, which gets it first, and in
// that of the oldest follower.
func (b *feedBench) arrives(ctx context.Context, note int64) (first, last time.Time, err error) {
	in := func(follower int64) func() (bool, error) {
		return func() (bool, error) {
			err := b.rdb.ZScore(ctx, b.feeds.Inbox(follower), b.member(note)).Err()
			if errors.Is(err, redis.Nil) {
				return false, nil
			}
			return err == nil, err
		}
	}
	if err := b.until(ctx, "a note is in the first inbox", in(b.crowd+int64(b.o.Followers)-1)); err != nil {
		return first, last, err
	}
	first = time.Now()
	err = b.until(ctx, "a note is in the last inbox", in(b.crowd))
	return first, time.Now(), err
}

func (b *feedBench) member(note int64) string { return fmt.Sprintf("%d/%d", b.pushed, note) }

// have counts the inboxes that contain a note.
func (b *feedBench) have(ctx context.Context, note int64) (n int, err error) {
	found := make([]*redis.FloatCmd, b.o.Followers)
	err = b.each(ctx, func(pipe redis.Pipeliner, i int64) {
		found[i] = pipe.ZScore(ctx, b.feeds.Inbox(b.crowd+i), b.member(note))
	})
	for _, cmd := range found {
		if cmd.Err() == nil {
			n++
		}
	}
	return n, err
}

// pages reads pages at three positions of the feeds of both kinds of readers.
func (b *feedBench) pages(ctx context.Context) ([]harness.Row, error) {
	var rows []harness.Row
	for _, kind := range []struct {
		name  string
		first int64
	}{
		{fmt.Sprintf("%d authors", feedAuthors), b.plain},
		{fmt.Sprintf("%d authors and %d celebrities", feedAuthors, feedCelebrities), b.celebrityReaders},
	} {
		for _, place := range []struct {
			name   string
			behind int
		}{{"first page", 0}, {fmt.Sprintf("page behind %d", feedDeep), feedDeep}, {fmt.Sprintf("page behind %d, below the inbox", feedBelow), feedBelow}} {
			after, err := b.place(ctx, kind.first, place.behind)
			if err != nil {
				return nil, err
			}
			rate, took, err := b.storm(ctx, kind.first, after)
			if err != nil {
				return nil, err
			}
			rows = append(rows, harness.Row{
				What:     fmt.Sprintf("%s, reader follows %s", place.name, kind.name),
				Measured: fmt.Sprintf("%s, p50 %.1f ms", perSecond(rate), harness.Millis(took.Percentile(50))),
			})
		}
	}
	return rows, nil
}

// place returns the cursor after the given number of notes; all readers of a kind share it.
func (b *feedBench) place(ctx context.Context, reader int64, behind int) (after string, err error) {
	for left := behind; left > 0; left -= 100 {
		var n int
		if n, after, err = b.feeds.Page(ctx, reader, min(left, 100), after); err != nil {
			return "", err
		}
		if n < min(left, 100) {
			return "", fmt.Errorf("the feed has no %d notes", behind)
		}
	}
	return after, nil
}

// storm reads a page of the feed of each reader of a kind, from parallel clients.
func (b *feedBench) storm(ctx context.Context, first int64, after string) (rate float64, took harness.Samples, err error) {
	for reader := first; reader < first+feedReaders; reader++ { // creates the inboxes
		if _, _, err := b.feeds.Page(ctx, reader, feedPage, ""); err != nil {
			return 0, nil, err
		}
	}
	took = make(harness.Samples, b.o.Pages)
	var turns atomic.Int64
	all, err := harness.RunParallel(ctx, b.o.Clients, b.o.Pages, func(ctx context.Context) error {
		turn, begin := turns.Add(1)-1, time.Now()
		n, _, err := b.feeds.Page(ctx, first+turn%feedReaders, feedPage, after)
		if err == nil && n != feedPage {
			err = fmt.Errorf("a page has %d notes", n)
		}
		took[turn] = time.Since(begin)
		return err
	})
	return float64(b.o.Pages) / all.Seconds(), took, err
}

// memory measures the size of an entry of a full inbox, by default and with a larger listpack.
func (b *feedBench) memory(ctx context.Context) ([]harness.Row, error) {
	entries, err := b.rdb.ZRangeWithScores(ctx, b.feeds.Inbox(b.plain), 0, inboxSize).Result() // and the mark
	if err != nil {
		return nil, fmt.Errorf("read an inbox: %w", err)
	}
	var rows []harness.Row
	for _, setting := range []struct {
		name    string
		options []string
	}{{"by default", nil}, {"zset-max-listpack-entries 512", []string{"--zset-max-listpack-entries", "512"}}} {
		bytes, err := memoryOf(ctx, entries, setting.options)
		if err != nil {
			return nil, err
		}
		rows = append(rows, harness.Row{
			What:     fmt.Sprintf("an inbox of %d, %s", len(entries), setting.name),
			Measured: fmt.Sprintf("%d bytes, %.1f an entry", bytes, float64(bytes)/float64(len(entries))),
		})
	}
	return rows, nil
}

// memoryOf returns the size of a sorted set in a Redis with the given options.
func memoryOf(ctx context.Context, entries []redis.Z, options []string) (bytes int64, err error) {
	server, err := subprocess.StartRedis(ctx, options...)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	rdb, err := subprocess.OpenPatient(server.URL)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	if err := rdb.ZAdd(ctx, "inbox", entries...).Err(); err != nil {
		return 0, fmt.Errorf("copy an inbox: %w", err)
	}
	if bytes, err = rdb.MemoryUsage(ctx, "inbox", 0).Result(); err != nil {
		return 0, fmt.Errorf("read the size of an inbox: %w", err)
	}
	return bytes, nil
}
