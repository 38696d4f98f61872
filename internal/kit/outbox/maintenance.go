package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Stats are what waits of one topic, over all processes.
type Stats struct {
	Name    string        // of the topic
	Waiting int64         // jobs neither done nor parked
	Pending int64         // of these: tried at least once, or being tried
	Oldest  time.Duration // since the oldest waiting job was added; 0 if none waits
	Parked  int64         // jobs that failed too often and wait for Unpark
}

// Stats returns the figures of every topic that has jobs or a handler here, by
// name.
func (b *Box) Stats(ctx context.Context) ([]Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	found := map[string]Stats{}
	for _, topic := range b.topics {
		found[topic] = Stats{Name: topic}
	}
	err := sqldb.Each(ctx, b.db, b.sql.stats, nil, func(rows *sql.Rows) error {
		var s Stats
		var oldest int64
		err := rows.Scan(&s.Name, &s.Waiting, &s.Pending, &oldest, &s.Parked)
		sum := found[s.Name]
		found[s.Name] = Stats{
			Name: s.Name, Waiting: sum.Waiting + s.Waiting, Pending: sum.Pending + s.Pending,
			Oldest: max(sum.Oldest, time.Duration(oldest)*time.Millisecond), Parked: sum.Parked + s.Parked,
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("outbox: sum up the jobs: %w", err)
	}
	return slices.SortedFunc(maps.Values(found), func(x, y Stats) int { return strings.Compare(x.Name, y.Name) }), nil
}

// tend keeps the gauges and replaces pile-ups, until ctx ends.
func (b *Box) tend(ctx context.Context) {
	shown := map[string]bool{}
	for ctx.Err() == nil {
		list, err := b.Stats(ctx)
		if err != nil && ctx.Err() == nil {
			b.complain(ctx, summing, err)
		}
		if err == nil {
			b.gauge(list, shown)
		}
		for _, s := range list {
			if b.handlers[s.Name].Collapse != nil && s.Waiting > int64(b.o.MaxWaiting) {
				if err := b.replace(ctx, s.Name); err != nil {
					b.complain(ctx, replacing, err)
				}
			}
		}
		_ = clock.Sleep(ctx, b.o.MaintainEvery) // the loop sees that ctx ended
	}
}

// gauge shows the figures. A topic without a handler here that was shown, and has
// no jobs any more, is shown once more, at 0.
func (b *Box) gauge(list []Stats, shown map[string]bool) {
	for topic := range shown {
		b.m.set(Stats{Name: topic})
	}
	clear(shown)
	for _, s := range list {
		b.m.set(s)
		shown[s.Name] = true
	}
}

// replace has Handler.All stand for the waiting jobs of a topic. The order is
// what makes it right: a job that the deletion saw had committed before All
// began, and one that commits later is not deleted.
func (b *Box) replace(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*statementTimeout+b.o.Timeout)
	defer cancel()
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("replace the jobs of %s: %w", topic, err)
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	done, err := tx.ExecContext(ctx, b.sql.replace, topic)
	if err != nil {
		return fmt.Errorf("delete the jobs of %s: %w", topic, err)
	}
	n, err := done.RowsAffected()
	if err != nil || n == 0 { // none: somebody else replaces them
		return err
	}
	if err := b.call(ctx, b.handlers[topic].Collapse, "topic", topic); err != nil {
		return fmt.Errorf("do what stands for all jobs of %s: %w", topic, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit that the jobs of %s are replaced: %w", topic, err)
	}
	b.m.jobs.WithLabelValues(topic, replaced).Add(float64(n))
	b.log.WarnContext(ctx, "too many outbox jobs waited: what stands for all of them was done", "topic", topic, "jobs", n)
	return nil
}

// sweepBatch is how many rows one statement deletes: a statement over very many
// would hold its locks, on SQLite the lock of all, for long.
const sweepBatch = 1000

// Sweep deletes the jobs whose time to be kept is over. One process is enough for all;
// any number may do so at once.
func (b *Box) Sweep(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := exec(ctx, b.db, b.sql.sweep, sweepBatch)
		if err != nil {
			return fmt.Errorf("outbox: delete old jobs: %w", err)
		}
		if n < sweepBatch {
			return nil
		}
	}
	return nil
}
