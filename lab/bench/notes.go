package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// Writers publishes and likes notes without HTTP, with all background work of a server. Users are 1
// to [NotesUsers].
type Writers interface {
	// Publish publishes a note by a user and returns its id.
	Publish(ctx context.Context, user int64) (note int64, err error)
	// Like sets or removes a user's like of a note.
	Like(ctx context.Context, user, note int64, likes bool) error
	// DB returns the database.
	DB() *sql.DB
}

// NotesUsers is the number of users that publish and like.
const NotesUsers = 64

// NotesOptions configures [Notes].
type NotesOptions struct {
	Clients, Rows int // parallel clients; writes per line of the table
	Open          func(ctx context.Context, databaseURL, redisURL string) (w Writers, stop func() error, err error)
}

// publishGoal is the goal for published notes per second.
const publishGoal = 2000

// Notes measures the rates of publishing notes, which get dense numbers, and of likes. It starts a
// durable PostgreSQL and a Redis.
func Notes(ctx context.Context, o NotesOptions, out, progress io.Writer) (err error) {
	database, err := subprocess.StartPostgres(ctx)
	if err != nil {
		return fmt.Errorf("bench notes: %w", err)
	}
	defer database.Stop()
	rdb, err := subprocess.StartRedis(ctx)
	if err != nil {
		return fmt.Errorf("bench notes: %w", err)
	}
	defer rdb.Stop()
	w, stop, err := o.Open(ctx, database.URL, rdb.URL)
	if err != nil {
		return fmt.Errorf("open a server to measure: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	b := &notesBench{o: o, w: w}
	return harness.Table(ctx, "notes", []harness.Measurement{
		{Name: "bare inserts", Measure: b.bare},
		{Name: "publishing", Measure: b.publish},
		{Name: "likes", Measure: b.likes},
	}, out, progress)
}

type notesBench struct {
	o        NotesOptions
	w        Writers
	bareRate float64 // bare inserts a second
	notes    []int64
	calls    atomic.Int64
}

// rate returns calls per second of parallel clients.
func (b *notesBench) rate(ctx context.Context, clients int, once func(ctx context.Context, n int64) error) (float64, error) {
	rows := max(b.o.Rows*clients/b.o.Clients, 1)
	call := func(ctx context.Context) error { return once(ctx, b.calls.Add(1)) }
	took, err := harness.RunParallel(ctx, clients, rows, call)
	return float64(rows) / took.Seconds(), err
}

// bare measures the database alone: one row per statement, which is a transaction, and many of them
// in one group commit.
func (b *notesBench) bare(ctx context.Context) ([]harness.Row, error) {
	if _, err := b.w.DB().ExecContext(ctx, "CREATE TABLE bare (id bigserial PRIMARY KEY, author bigint, title text, content text)"); err != nil {
		return nil, fmt.Errorf("make a table to compare with: %w", err)
	}
	one := func(ctx context.Context, n int64) error {
		_, err := b.w.DB().ExecContext(ctx, "INSERT INTO bare (author, title, content) VALUES ($1, 'Tea', 'Good tea.')", n)
		return err
	}
	rate, err := b.rate(ctx, b.o.Clients, one)
	if err != nil {
		return nil, err
	}
	alone, err := b.rate(ctx, 1, one)
	b.bareRate = rate
	return []harness.Row{
		{What: fmt.Sprintf("bare INSERT, a commit each, %d clients", b.o.Clients), Measured: perSecond(rate)},
		{What: "bare INSERT, a commit each, 1 client", Measured: perSecond(alone)},
	}, err
}

func (b *notesBench) publish(ctx context.Context) ([]harness.Row, error) {
	publish := func(ctx context.Context, n int64) error {
		_, err := b.w.Publish(ctx, 1+n%NotesUsers)
		return err
	}
	rate, err := b.rate(ctx, b.o.Clients, publish)
	if err != nil {
		return nil, err
	}
	alone, err := b.rate(ctx, 1, publish)
	if err != nil {
		return nil, err
	}
	dense, err := b.dense(ctx)
	return []harness.Row{
		{What: fmt.Sprintf("publishing, %d clients", b.o.Clients), Measured: perSecond(rate), Goal: fmt.Sprintf("about %d", publishGoal), Met: rate >= 0.9*publishGoal},
		{What: "÷ bare INSERT", Measured: fmt.Sprintf("%.2f", rate/b.bareRate)},
		{What: "publishing, 1 client", Measured: perSecond(alone)},
		{What: "numbers of the feed", Measured: dense, Goal: "no hole", Met: dense == "no hole"},
	}, err
}

// dense reports whether the assigned numbers have holes.
func (b *notesBench) dense(ctx context.Context) (string, error) {
	var n, last int64
	err := b.w.DB().QueryRowContext(ctx, "SELECT count(*), max(seq) FROM note_events").Scan(&n, &last)
	if err != nil {
		return "", fmt.Errorf("count holes: %w", err)
	}
	if n != last {
		return fmt.Sprintf("%d of %d missing", last-n, last), nil
	}
	return "no hole", nil
}

func (b *notesBench) likes(ctx context.Context) ([]harness.Row, error) {
	for range NotesUsers {
		id, err := b.w.Publish(ctx, 1)
		if err != nil {
			return nil, err
		}
		b.notes = append(b.notes, id)
	}
	// Each user likes and unlikes a note in turns: every call writes.
	first := b.calls.Load()
	tap := func(of func(user int64) int64) func(context.Context, int64) error {
		return func(ctx context.Context, n int64) error {
			n -= first + 1
			user := 1 + n%NotesUsers
			return b.w.Like(ctx, user, of(user), n/NotesUsers%2 == 0)
		}
	}
	same, err := b.rate(ctx, b.o.Clients, tap(func(int64) int64 { return b.notes[0] }))
	if err != nil {
		return nil, err
	}
	first = b.calls.Load()
	many, err := b.rate(ctx, b.o.Clients, tap(func(user int64) int64 { return b.notes[user-1] }))
	return []harness.Row{
		{What: fmt.Sprintf("likes and unlikes of one note, %d clients", b.o.Clients), Measured: perSecond(same)},
		{What: fmt.Sprintf("likes and unlikes of %d notes, %d clients", NotesUsers, b.o.Clients), Measured: perSecond(many)},
	}, err
}

func perSecond(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }
