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

// session connects, makes everything ready and reads until ctx ends, the
// connection does, or the slot holds back too much. It returns nil when ctx ended.
func (r *Reader) session(ctx context.Context) error {
	connect, cancel := context.WithTimeout(ctx, 2*connectTimeout) // all addresses of the host together
	defer cancel()
	conn, err := pgconn.ConnectConfig(connect, r.config)
	if err != nil {
		return fmt.Errorf("connect for replication: %w", err)
	}
	defer hangUp(ctx, conn)
	if err := r.learnTables(ctx); err != nil {
		return err
	}
	if err := r.publish(ctx); err != nil {
		return err
	}
	at, err := r.look(ctx)
	if err != nil {
		return err
	}
	if !at.there {
		if err := r.begin(ctx, conn); err != nil {
			return err
		}
		if at, err = r.look(ctx); err != nil {
			return err
		}
	}
	return r.read(ctx, conn, at.position)
}

// hangUp closes a connection, and waits for what pgconn does in the background
// when one fails.
func hangUp(ctx context.Context, conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_ = conn.Close(ctx)
	select {
	case <-conn.CleanupDone():
	case <-ctx.Done(): // the server's host does not answer
	}
}

// errTooMuch ends a session whose slot holds back too much.
var errTooMuch = errors.New("the replication slot holds back too much")

// read reads from the position that was acknowledged last.
func (r *Reader) read(ctx context.Context, conn *pgconn.PgConn, from pglogrepl.LSN) error {
	start, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err := pglogrepl.StartReplication(start, conn, r.slot, from, pglogrepl.StartReplicationOptions{
		Mode:       pglogrepl.LogicalReplication,
		PluginArgs: []string{"proto_version '1'", "publication_names '" + r.publication + "'"},
	})
	if err != nil {
		return fmt.Errorf("begin to read the replication slot %s: %w", r.slot, err)
	}
	r.log.InfoContext(ctx, "reading the log of the database", "slot", r.slot, "from", from.String())
	r.active.Store(true)
	defer r.active.Store(false)

	reading, stop := context.WithCancelCause(ctx)
	var guard sync.WaitGroup
	guard.Go(func() { r.guard(reading, stop) })
	s := &stream{r: r, conn: conn, position: from, heard: time.Now(), relations: make(map[uint32]*relation)}
	err = s.follow(reading)
	s.finish(ctx)
	stop(nil)
	guard.Wait()
	if err == nil && ctx.Err() == nil {
		err = context.Cause(reading)
	}
	return err
}

// guard looks at what the slot holds back, until ctx ends. It stops the session
// when that is too much: a slot that is read cannot be dropped.
func (r *Reader) guard(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(r.pace.guard)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at, err := r.look(ctx)
		if err != nil && ctx.Err() == nil {
			r.failed(ctx, err)
		}
		if at.lag > r.o.MaxLag {
			stop(errTooMuch)
			return
		}
	}
}
