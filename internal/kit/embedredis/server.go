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
	passShare   = 20                     // a pass may take 1/20 of the time
	inputLimit  = 1 << 20                // bytes of requests not yet read; then the client waits
	outputLimit = 64 << 20
)

// Options tunes a Server. The zero value is right for production.
type Options struct {
	// Now and After are the clock that [Server.Run] goes by; default time.Now and time.After. Commands
	// that tell the time (TIME, stream ids, EXPIREAT) always use the wall clock.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time

	// OutputLimit is how many bytes of answers and messages may wait for one client to read them; a
	// client with more is disconnected, as by client-output-buffer-limit in Redis. Default 64 MiB.
	OutputLimit int
}

// Server is one in-process Redis. Its methods may be called by any number of goroutines.
type Server struct {
	db      *miniredis.Miniredis
	proto   *server.Server
	opts    Options
	runID   string
	started time.Time
	ticking atomic.Bool
	pass    atomic.Int64 // nanoseconds
	cutOff  atomic.Int64

	mu     sync.Mutex // keeps Dial from adding a connection to a closing server
	closed bool
}

// Stats are figures for metrics, as of now.
type Stats struct {
	Keys       int           // keys that are not expired
	Clients    int           // open connections
	CutOff     int64         // clients disconnected since the start because they did not read
	ExpiryPass time.Duration // how long the last pass of [Server.Run] held the whole server
}

// Start makes an empty Redis. It opens no port, and nothing expires until [Server.Run] is called. The
// caller closes it, after the clients.
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
	c, err := db.Dial() // the one way to start it without a listener
	if err != nil {
		return nil, fmt.Errorf("embedded redis: start: %w", err)
	}
	_ = c.Close()
	s := &Server{db: db, proto: db.Server(), opts: o, runID: hex.EncodeToString(id[:]), started: time.Now()}
	s.proto.SetPreHook(s.guard)
	return s, nil
}

// Dial opens a connection; network and addr are ignored. It fails with [net.ErrClosed] after Close,
// and with the context's error when ctx has already ended. It is meant for redis.Options.Dialer.
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

// RunID is 40 hexadecimal digits, new at every start. INFO server shows it as run_id too.
func (s *Server) RunID() string { return s.runID }

// Run is the clock: it expires keys until ctx ends, and then returns nil.
//
// Every 250 ms all TTLs are shortened by the time that really passed, by the monotonic clock. A pass
// walks over every key and holds the whole server (about 3 ms for 10 000 keys), so the pause is
// stretched to 20 times the last pass when that is longer; expiry is then off by as much. The time in
// which no Run is active does not count. A second Run beside an active one returns an error.
func (s *Server) Run(ctx context.Context) error {
	if !s.ticking.CompareAndSwap(false, true) {
		return errors.New("embedded redis: the clock is already running")
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
		// A blocked client that has hung up is only noticed when some command runs.
		_, _ = s.do("PING")
		pass := s.opts.Now().Sub(now)
		s.pass.Store(int64(pass))
		pause = max(tick, passShare*pass)
	}
}

// Stats counts; it takes no longer than one command.
func (s *Server) Stats() Stats {
	n, _ := s.do("DBSIZE")
	keys, _ := n.(int)
	return Stats{
		Keys:       keys,
		Clients:    s.proto.ClientsLen(),
		CutOff:     s.cutOff.Load(),
		ExpiryPass: time.Duration(s.pass.Load()),
	}
}

// Close disconnects every client, blocked ones too, and waits until no command runs. It may be called
// more than once. Run is ended by its context, not by Close.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.db.Lock()
	s.db.CtxCancel() // wakes the blocked
	s.db.Unlock()
	// miniredis' own Close forgets its protocol server while clients are still there, and a script that
	// runs at that moment falls over a nil pointer. So the clients go first.
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
