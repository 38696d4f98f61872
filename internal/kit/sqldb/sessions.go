package sqldb

import (
	"context"
	"database/sql"
	_ "embed" // the statement
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lib/pq"
)

const (
	connectTimeout = 5 * time.Second        // of the first connection and its first statement
	sessionProbes  = 4                      // connections per host; two of them share a process if the pooler has up to three
	sessionTimeout = time.Second            // for opening all other connections
	sessionGrace   = 100 * time.Millisecond // extra wait for connections that queued before the last statement of the first one
)

//go:embed sql/session.postgres.sql
var sessionPostgres string

// errPooled reports a connection pooler that does not assign one server session to each connection.
// Locks, LISTEN and prepared statements need a session.
var errPooled = errors.New("the database URL points to a connection pooler in transaction or statement mode, " +
	"which runs the statements of one connection in different server sessions: " +
	"set the pooler to session mode (PgBouncer: pool_mode = session), or connect to Postgres directly")

// connect opens a connection to Postgres and returns nil if each connection has its own session.
// With several hosts, it checks those that answer now.
func (s *SQL) connect(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	first, err := openProbe(ctx, wait, s.config)
	if err != nil {
		return err
	}
	defer first.close()
	if len(s.config.Multi) == 0 {
		return checkSessions(ctx, first, s.config)
	}
	var checks sync.WaitGroup
	errs := make(chan error, len(s.config.Multi)+1)
	for _, host := range hostsOf(s.config) {
		checks.Go(func() {
			wait, cancel := context.WithTimeout(ctx, sessionTimeout)
			defer cancel()
			first, err := openProbe(ctx, wait, host)
			if err != nil {
				return // unavailable now, but another host answered
			}
			defer first.close()
			errs <- checkSessions(ctx, first, host)
		})
	}
	checks.Wait()
	close(errs)
	for failed := range errs {
		if err == nil || errors.Is(failed, errPooled) {
			err = failed
		}
	}
	return err
}

// hostsOf returns a configuration for each host of cfg, regardless of its role.
func hostsOf(cfg pq.Config) []pq.Config {
	single := func(host pq.ConfigMultihost) pq.Config {
		c := cfg.Clone()
		c.Host, c.Hostaddr, c.Port, c.Multi = host.Host, host.Hostaddr, host.Port, nil
		c.TargetSessionAttrs = pq.TargetSessionAttrsAny
		return c
	}
	hosts := []pq.Config{single(pq.ConfigMultihost{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port})}
	for _, host := range cfg.Multi {
		hosts = append(hosts, single(host))
	}
	return hosts
}

// checkSessions returns [errPooled] if a connection changes its session, or if two connections
// share one. Neither can happen on Postgres itself or in session mode, so there is no false alarm.
//
// It runs statements sequentially, two in a row per connection. A pooler that reuses its newest
// session gives the same session to the next connection. A round-robin pooler gives another session
// to the second statement.
func checkSessions(ctx context.Context, first *probe, cfg pq.Config) error {
	others, err := openOthers(ctx, first, cfg)
	defer func() {
		for _, p := range others {
			p.close()
		}
	}()
	if err != nil {
		return err
	}
	owners := map[string]*probe{}
	for _, p := range append([]*probe{first}, others...) {
		for range 2 {
			before := p.session
			if err := p.readSession(ctx); err != nil {
				if p == first {
					return err
				}
				break
			}
			// The other owner must still be connected: in session mode, the session of a
			// disconnected client is given to the next client.
			owner := owners[p.session]
			shared := owner != nil && owner != p && owner.readSession(ctx) == nil
			if p.session != before || shared {
				return errPooled
			}
			owners[p.session] = p
		}
	}
	return nil
}

// openOthers opens up to sessionProbes-1 connections, as many as the server admits now. While a pool
// in session mode is empty, a new connection waits, but a statement of first does not. In other modes
// that statement waits too, and openOthers returns an error to be retried.
func openOthers(ctx context.Context, first *probe, cfg pq.Config) (others []*probe, err error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make(chan *probe, sessionProbes-1)
	for range cap(opened) {
		go func() {
			p, _ := openProbe(ctx, wait, cfg)
			opened <- p
		}()
	}
	late := time.After(sessionTimeout)
	for range cap(opened) {
		var p *probe
		select {
		case p = <-opened:
		case <-late:
			// A connection that queued before first's statement is served before it.
			if err = first.readSession(ctx); err == nil {
				time.AfterFunc(sessionGrace, cancel)
			} else {
				cancel()
			}
			p = <-opened
		}
		if p != nil {
			others = append(others, p)
		}
	}
	return others, err
}

// A probe is a connection that never reconnects. Closing it does not wait for the server.
type probe struct {
	db      *sql.DB
	conn    *sql.Conn
	wire    *cutWire
	stop    func() bool
	session string // of the last statement
}

// openProbe connects and reads the session. The probe lives until ctx ends or it is closed; wait
// bounds the opening.
func openProbe(ctx, wait context.Context, cfg pq.Config) (*probe, error) {
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, err
	}
	p := &probe{wire: &cutWire{ctx: ctx}}
	connector.Dialer(p.wire)
	p.stop = context.AfterFunc(ctx, p.wire.cut)
	defer context.AfterFunc(wait, p.wire.cut)()
	p.db = sql.OpenDB(connector)
	if p.conn, err = p.db.Conn(wait); err == nil {
		err = p.readSession(wait)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// readSession reads the server session of this connection. It closes the connection when ctx ends: a
// pooler may block a statement forever and ignore cancel requests.
func (p *probe) readSession(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.wire.cut)()
	err := p.conn.QueryRowContext(context.WithoutCancel(ctx), Statement(sessionPostgres)).Scan(&p.session)
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("read server session: %w", err)
	}
	return nil
}

func (p *probe) close() {
	p.stop()
	if p.conn != nil {
		_ = p.conn.Close()
	}
	_ = p.db.Close()
}
