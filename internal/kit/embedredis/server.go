package embedredis

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

const (
	tick        = 250 * time.Millisecond // between two expiry passes
	pauseFactor = 20                     // minimum pause after a pass, as a multiple of its duration
	inputLimit  = 1 << 20                // unread bytes of requests at which a client waits
	outputLimit = 64 << 20
)

// Options configures a [Server]. The zero value is a good production setting.
type Options struct {
	// Now and After are the clock of [Server.Run]; default time.Now and time.After. Commands that
	// depend on the time (TIME, stream ids, EXPIREAT) always use the wall clock.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time

	// OutputLimit is the maximum number of unread bytes of a client. A client with more is
	// disconnected, like with client-output-buffer-limit in Redis. Default 64 MiB.
	OutputLimit int
}

// A Server is an in-process Redis. It is safe for concurrent use.
type Server struct {
	db      *miniredis.Miniredis
	proto   *server.Server
	opts    Options
	runID   string
	started time.Time
	ticking atomic.Bool
	pass    atomic.Int64 // nanoseconds
	cutOff  atomic.Int64

	mu     sync.Mutex // Dial adds no connection while Close runs
	closed bool
}

// Stats holds current figures for metrics.
type Stats struct {
	Keys         int           // without expired keys
	Clients      int           // open connections
	Disconnected int64         // clients disconnected since the start because of OutputLimit
	ExpiryPass   time.Duration // duration of the last pass of [Server.Run], which blocks the server
}

// Start creates an empty Redis. It opens no port, and nothing expires until [Server.Run] is called.
// The caller closes the clients first, and then the server.
func Start(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	o.OutputLimit = cmp.Or(o.OutputLimit, outputLimit)

	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails
	db := miniredis.NewMiniRedis()
	c, err := db.Dial() // the only way to start it without a listener
	if err != nil {
		return nil, fmt.Errorf("start embedded redis: %w", err)
	}
	_ = c.Close()
	s := &Server{db: db, proto: db.Server(), opts: o, runID: hex.EncodeToString(id[:]), started: time.Now()}
	s.proto.SetPreHook(s.guard)
	return s, nil
}

// Dial opens a connection, for redis.Options.Dialer. It ignores network and addr. It returns
// [net.ErrClosed] after Close, and the context's error if ctx has ended.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("dial embedded redis: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("dial embedded redis: %w", net.ErrClosed)
	}
	client, served := newPipe(inputLimit, s.opts.OutputLimit, func() { s.cutOff.Add(1) })
	s.proto.ServeConn(served)
	return client, nil
}

// RunID returns 40 hexadecimal digits, new at every start. INFO server shows it as run_id too.
func (s *Server) RunID() string { return s.runID }

// Run expires keys until ctx ends, and then returns nil.
//
// Every 250 ms, a pass shortens all TTLs by the elapsed monotonic time. It visits every key and
// blocks the whole server (about 3 ms for 10 000 keys). If 20 times the last pass is longer than
// 250 ms, the pause grows to that, and so does the error of expiry. TTLs do not shrink while no Run
// is active. A second concurrent Run returns an error.
func (s *Server) Run(ctx context.Context) error {
	if !s.ticking.CompareAndSwap(false, true) {
		return errors.New("run embedded redis: already running")
	}
	defer s.ticking.Store(false)

	last, pause := s.opts.Now(), tick
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.opts.After(pause):
		}
		now := s.opts.Now()
		s.db.FastForward(now.Sub(last))
		last = now
		// miniredis notices that a blocked client has disconnected only when a command runs.
		_, _ = s.do("PING")
		pass := s.opts.Now().Sub(now)
		s.pass.Store(int64(pass))
		pause = max(tick, pauseFactor*pass)
	}
}

// Stats returns current figures. It takes as long as one command.
func (s *Server) Stats() Stats {
	n, _ := s.do("DBSIZE")
	keys, _ := n.(int)
	return Stats{
		Keys:         keys,
		Clients:      s.proto.ClientsLen(),
		Disconnected: s.cutOff.Load(),
		ExpiryPass:   time.Duration(s.pass.Load()),
	}
}

// Close disconnects every client, also blocked ones, and waits until no command runs. It may be
// called more than once. It does not end [Server.Run].
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.db.Lock()
	s.db.CtxCancel() // wakes blocked clients
	s.db.Unlock()
	// Disconnect the clients first: miniredis's Close clears its protocol server, which a running
	// script would still dereference.
	s.proto.Close()
	s.db.Close()
	return nil
}

// do runs one command without a connection.
func (s *Server) do(args ...string) (any, error) {
	var out bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&out))
	s.proto.Dispatch(peer, args)
	peer.Flush()
	return server.ParseReply(bufio.NewReader(&out))
}
