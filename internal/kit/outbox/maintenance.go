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

// Stats describes the waiting jobs of one topic, over all processes.
type Stats struct {
	Name    string        // of the topic
	Waiting int64         // jobs neither done nor parked
	Pending int64         // of these: tried at least once, or running
	Oldest  time.Duration // age of the oldest waiting job; 0 if none waits
	Parked  int64         // jobs that failed too often and wait for Unpark
}

// Stats returns the statistics of every topic with jobs or with a handler in this process,
// sorted by name.
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
		return nil, fmt.Errorf("count outbox jobs: %w", err)
	}
	return slices.SortedFunc(maps.Values(found), func(x, y Stats) int { return strings.Compare(x.Name, y.Name) }), nil
}

// maintain updates the gauges and collapses topics with too many jobs, until ctx ends.
func (b *Box) maintain(ctx context.Context) {
	shown := map[string]bool{}
	for ctx.Err() == nil {
		list, err := b.Stats(ctx)
		if err != nil && ctx.Err() == nil {
			b.recordFailure(ctx, summing, err)
		}
		if err == nil {
			b.setGauges(list, shown)
		}
		for _, s := range list {
			if b.handlers[s.Name].Collapse != nil && s.Waiting > int64(b.o.MaxWaiting) {
				if err := b.replace(ctx, s.Name); err != nil {
					b.recordFailure(ctx, replacing, err)
				}
			}
		}
		_ = clock.Sleep(ctx, b.o.MaintainEvery) // the loop checks ctx
	}
}

// setGauges sets the gauges, to 0 for a topic that is no longer in the list.
func (b *Box) setGauges(list []Stats, shown map[string]bool) {
	for topic := range shown {
		b.m.set(Stats{Name: topic})
	}
	clear(shown)
	for _, s := range list {
		b.m.set(s)
		shown[s.Name] = true
	}
}

// replace runs Handler.Collapse instead of the waiting jobs of a topic. The order is essential:
// a deleted job committed before Collapse began, and a job that commits later is not deleted.
func (b *Box) replace(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*statementTimeout+b.o.Timeout)
	defer cancel()
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("replace outbox jobs of %s: %w", topic, err)
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	result, err := tx.ExecContext(ctx, b.sql.replace, topic)
	if err != nil {
		return fmt.Errorf("delete outbox jobs of %s: %w", topic, err)
	}
	n, err := result.RowsAffected()
	if err != nil || n == 0 { // 0: another process replaces them
		return err
	}
	if err := b.call(ctx, b.handlers[topic].Collapse, "topic", topic); err != nil {
		return fmt.Errorf("collapse outbox jobs of %s: %w", topic, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("replace outbox jobs of %s: %w", topic, err)
	}
	b.m.jobs.WithLabelValues(topic, replaced).Add(float64(n))
	b.log.WarnContext(ctx, "too many outbox jobs, collapsed", "topic", topic, "jobs", n)
	return nil
}

// sweepBatch is the number of rows that one statement deletes. A larger one would hold its locks
// for long; on SQLite that locks the whole database.
const sweepBatch = 1000

// Sweep deletes the jobs whose retention is over. One process is enough; more may call it at
// once.
func (b *Box) Sweep(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := exec(ctx, b.db, b.sql.sweep, sweepBatch)
		if err != nil {
			return fmt.Errorf("delete old outbox jobs: %w", err)
		}
		if n < sweepBatch {
			return nil
		}
	}
	return nil
}
