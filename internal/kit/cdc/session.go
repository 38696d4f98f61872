package cdc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

// session connects, prepares the publication and the slot, and reads until ctx ends, the
// connection fails, or the slot retains too much WAL. It returns nil when ctx ended.
func (r *Reader) session(ctx context.Context) error {
	connect, cancel := context.WithTimeout(ctx, 2*connectTimeout) // all addresses of the host together
	defer cancel()
	conn, err := pgconn.ConnectConfig(connect, r.config)
	if err != nil {
		return fmt.Errorf("connect for replication: %w", err)
	}
	defer closeConn(ctx, conn)
	if err := r.loadKeys(ctx); err != nil {
		return err
	}
	if err := r.ensurePublication(ctx); err != nil {
		return err
	}
	at, err := r.readSlot(ctx)
	if err != nil {
		return err
	}
	if !at.exists {
		if err := r.begin(ctx, conn); err != nil {
			return err
		}
		if at, err = r.readSlot(ctx); err != nil {
			return err
		}
	}
	return r.read(ctx, conn, at.position)
}

// closeConn closes a connection, and waits for the background work of pgconn.
func closeConn(ctx context.Context, conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_ = conn.Close(ctx)
	select {
	case <-conn.CleanupDone():
	case <-ctx.Done(): // the server's host does not answer
	}
}

// errMaxLag ends a session whose slot retains too much WAL.
var errMaxLag = errors.New("replication slot retains too much WAL")

// read reads from the last acknowledged position.
func (r *Reader) read(ctx context.Context, conn *pgconn.PgConn, from pglogrepl.LSN) error {
	start, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err := pglogrepl.StartReplication(start, conn, r.slot, from, pglogrepl.StartReplicationOptions{
		Mode:       pglogrepl.LogicalReplication,
		PluginArgs: []string{"proto_version '1'", "publication_names '" + r.publication + "'"},
	})
	if err != nil {
		return fmt.Errorf("read replication slot %s: %w", r.slot, err)
	}
	r.log.InfoContext(ctx, "change data capture started", "slot", r.slot, "from", from.String())
	r.active.Store(true)
	defer r.active.Store(false)

	reading, stop := context.WithCancelCause(ctx)
	var guard sync.WaitGroup
	guard.Go(func() { r.guard(reading, stop) })
	s := &stream{r: r, conn: conn, position: from, lastReceived: time.Now(), relations: make(map[uint32]*relation)}
	err = s.follow(reading)
	s.finish(ctx)
	stop(nil)
	guard.Wait()
	if err == nil && ctx.Err() == nil {
		err = context.Cause(reading)
	}
	return err
}

// guard checks the WAL that the slot retains, until ctx ends. If it is too much, guard
// stops the session: a slot that is read cannot be dropped.
func (r *Reader) guard(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(r.intervals.guard)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at, err := r.readSlot(ctx)
		if err != nil && ctx.Err() == nil {
			r.recordFailure(ctx, err)
		}
		if at.lag > r.o.MaxLag {
			stop(errMaxLag)
			return
		}
	}
}
