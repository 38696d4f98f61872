package lock

import (
	"context"
	_ "embed" // a statement
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/compare/clients"
)

//go:embed sql/end_sessions.sql
var endSQL string

// patience limits the time of events that must happen at once.
const patience = 10 * time.Second

// life is the duration of a lease on a stage: so long that none expires by itself. The scenario
// decides when time passes.
const life = time.Minute

// user is the user of the order that all processes on a stage want to make.
const user = "user"

// stage holds three processes of one variant for one scenario.
type stage struct {
	*Servers
	v      Variant
	prefix string
	name   string
	ledger Ledger
	p      []*process
}

func (s *Servers) stage(ctx context.Context, v Variant, ttl time.Duration, apart bool) (*stage, error) {
	prefix := s.space()
	st := &stage{Servers: s, v: v, prefix: prefix, name: prefix + user, ledger: s.ledger()}
	if err := st.ledger.Open(ctx, st.name); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	for i := range 3 {
		if v.Single && !apart && i > 0 {
			st.p = append(st.p, st.p[0])
			continue
		}
		p, err := s.start(ctx, v, i, prefix, st.ledger, ttl)
		if err != nil {
			return nil, errors.Join(err, st.close(ctx))
		}
		st.p = append(st.p, p)
	}
	return st, nil
}

func (s *stage) close(ctx context.Context) error {
	var all []error
	for i, p := range s.p {
		if i == 0 || p != s.p[0] {
			all = append(all, p.close(ctx))
		}
	}
	for _, rdb := range s.nodes {
		all = append(all, empty(ctx, rdb, s.prefix))
	}
	return errors.Join(all...)
}

// lapse advances time by more than a lease, on all servers and for the clocks of all processes.
// Timers of a process do not fire: it is paused.
func (s *stage) lapse(ctx context.Context) error {
	const d = life + time.Second
	for _, p := range s.p {
		p.ahead.Add(int64(d))
	}
	var all []error
	for _, rdb := range s.nodes {
		all = append(all, lapse(ctx, rdb, s.prefix, d))
	}
	if s.db != nil {
		_, err := s.db.ExecContext(ctx,
			`UPDATE lock_rows SET expires_at = expires_at - $2 * interval '1 millisecond' WHERE name = $1`, s.name, d.Milliseconds())
		all = append(all, err)
	}
	for _, p := range s.p {
		if s.v.Session && s.v.Leased {
			_, err := s.endSessions(ctx, p.name+lockSessions)
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// lose removes the lock from n nodes. In a database it ends the sessions of a process that hold
// one; a row is as durable as the orders.
func (s *stage) lose(ctx context.Context, nodes int, holder *process) error {
	if s.v.Nodes == 0 {
		name := holder.name
		if s.v.Session {
			name += lockSessions
		}
		ended, err := s.endSessions(ctx, name)
		if err == nil && ended == 0 {
			err = errors.New("the holder has no session")
		}
		return err
	}
	for _, rdb := range s.nodes[:min(nodes, s.v.Nodes)] {
		if err := empty(ctx, rdb, s.prefix); err != nil {
			return err
		}
	}
	return nil
}

// endSessions ends the sessions of a name; of Process.Locks, only those that hold a lock.
func (s *stage) endSessions(ctx context.Context, name string) (ended int, err error) {
	if err := s.db.QueryRowContext(ctx, endSQL, name, strings.HasSuffix(name, lockSessions)).Scan(&ended); err != nil {
		return 0, fmt.Errorf("end the sessions of %s: %w", name, err)
	}
	return ended, nil
}

// everywhere waits until all nodes have the lock: a scheme may return earlier.
func (s *stage) everywhere(ctx context.Context) error {
	return eventually(ctx, "the lock is not on all nodes", func(ctx context.Context) (bool, error) {
		for _, rdb := range s.nodes[:s.v.Nodes] {
			found := 0
			err := clients.Each(ctx, rdb, s.prefix, func(string) error { found++; return nil })
			if err != nil || found == 0 {
				return false, err
			}
		}
		return true, nil
	})
}

// comes starts an order of another process. It returns when the order is done, gave up because the
// lock is held, or waits for a row of the database. In the last case the caller must join it.
func (s *stage) comes(ctx context.Context, p *process) (join func() error, err error) {
	done := make(chan error, 1)
	go func() { done <- p.order(ctx, s.name) }()
	var got error
	ended := false
	join = func() error {
		if !ended {
			got, ended = <-done, true
		}
		return got
	}
	err = eventually(ctx, "a second process neither ends nor waits", func(ctx context.Context) (waits bool, err error) {
		select {
		case got = <-done:
			ended = true
			return true, nil
		default:
		}
		if s.db != nil {
			err = s.db.QueryRowContext(ctx,
				`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock')`, p.name).Scan(&waits)
		}
		return waits, err
	})
	return join, err
}

// eventually polls until the answer is yes.
func eventually(ctx context.Context, otherwise string, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		yes, err := ask(ctx)
		if yes || err != nil {
			return err
		}
		if clock.Sleep(ctx, time.Millisecond) != nil {
			return fmt.Errorf("%s within %v", otherwise, patience)
		}
	}
}
