package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// process is one process of a variant, with all injectable faults.
type process struct {
	Scheme
	Process
	early  bool
	nodes  []*wire // by node
	tables *wire
	valve  *valve
	ahead  *atomic.Int64 // of its clock, nanoseconds
	name   string        // of its sessions in the database
	dead   bool
}

// start opens the process of a variant with this number.
func (s *Servers) start(ctx context.Context, v Variant, i int, prefix string, ledger Ledger, ttl time.Duration) (p *process, err error) {
	p = &process{early: v.Early, tables: new(wire), valve: new(valve), ahead: new(atomic.Int64), name: fmt.Sprintf("%s%d", prefix, i)}
	p.ahead.Store(int64(i) * int64(time.Millisecond)) // no two read the same time
	p.Process = Process{Index: i, Ledger: ledger, Prefix: prefix, TTL: ttl, Now: func() time.Time {
		return time.Now().Add(time.Duration(p.ahead.Load()))
	}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start %s: %w", v.Name, err), p.close(context.WithoutCancel(ctx)))
			p = nil
		}
	}()
	for _, url := range s.urls[:v.Nodes] {
		w := new(wire)
		rdb, err := client(url, w, p.valve)
		if err != nil {
			return p, err
		}
		p.Nodes, p.nodes = append(p.Nodes, rdb), append(p.nodes, w)
	}
	if s.db != nil {
		if p.DB, err = s.database(p.tables, p.name); err != nil {
			return p, err
		}
		if p.Locks, err = s.database(p.tables, p.name+lockSessions); err != nil {
			return p, err
		}
		p.Ledger = sqlLedger{p.DB}
	}
	p.Scheme, err = v.New(p.Process)
	return p, err
}

// lockSessions is the suffix of the session names of Process.Locks.
const lockSessions = " locks"

// kill ends a process like kill -9: its servers see closed connections.
func (p *process) kill() {
	p.dead = true
	p.tables.cut()
	for _, w := range p.nodes {
		w.cut()
	}
}

// sent counts the requests of the process.
func (p *process) sent() int64 {
	n := p.tables.sent.Load()
	for _, w := range p.nodes {
		n += w.sent.Load()
	}
	return n
}

func (p *process) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var err error
	if p.Scheme != nil {
		err = p.Close(ctx)
	}
	for _, rdb := range p.Nodes {
		_ = rdb.Close() // some of its connections may be cut
	}
	for _, w := range append(p.nodes, p.tables) {
		w.cut()
	}
	if p.DB != nil {
		_ = p.DB.Close()
	}
	if p.Locks != nil {
		_ = p.Locks.Close()
	}
	if p.dead {
		return nil
	}
	return err
}

// sitting is a process at work: it holds the lock, and has counted.
type sitting struct {
	p       *process
	holding Holding
	work    Work
	bought  int
}

// sit takes the lock without waiting, begins the work and counts.
func (p *process) sit(ctx context.Context, name string) (*sitting, error) {
	h, err := p.Try(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := p.begin(ctx, h, name)
	if err != nil {
		return nil, errors.Join(err, h.Unlock(ctx))
	}
	return s, nil
}

func (p *process) begin(ctx context.Context, h Holding, name string) (s *sitting, err error) {
	s = &sitting{p: p, holding: h}
	if b, ok := h.(Binder); ok {
		s.work, err = b.Begin(ctx)
	} else {
		s.work, err = p.Ledger.Begin(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	if s.bought, err = s.work.Bought(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("count: %w", err), s.work.Rollback())
	}
	return s, nil
}

// finish buys unless the user has an order, commits and releases the lock, in the order of the
// scheme. It calls before just before the commit.
func (s *sitting) finish(ctx context.Context, before func()) error {
	var err error
	if s.bought == 0 {
		err = s.work.Buy(ctx)
	}
	if s.p.early {
		err = errors.Join(err, s.holding.Unlock(ctx))
	}
	before()
	if err == nil {
		err = s.work.Commit()
	} else {
		err = errors.Join(err, s.work.Rollback())
	}
	if !s.p.early {
		err = errors.Join(err, s.holding.Unlock(ctx))
	}
	return err
}

// order runs the whole work.
func (p *process) order(ctx context.Context, name string) error {
	s, err := p.sit(ctx, name)
	if err != nil {
		return err
	}
	return s.finish(ctx, func() {})
}
