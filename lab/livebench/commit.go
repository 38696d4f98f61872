package livebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Messages of a connection: a note to publish, and the result. A connection carries one request at
// a time; use several connections in parallel.
type (
	commitQuestion struct{ Title, Content string }
	commitAnswer   struct{ Err string }
)

// A CommitServer publishes notes for [CommitClient]s. It runs in Tandian's author process.
type CommitServer struct {
	listener net.Listener
	publish  func(ctx context.Context, title, content string) error
}

// ListenForCommits listens on a unix socket. Run serves and closes it.
func ListenForCommits(ctx context.Context, path string, publish func(ctx context.Context, title, content string) error) (*CommitServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for notes to commit: %w", err)
	}
	return &CommitServer{listener, publish}, nil
}

// Run serves all connections. It returns nil when ctx has ended and all requests are finished. It
// may run once.
func (s *CommitServer) Run(ctx context.Context) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	for {
		conn, err := s.listener.Accept()
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a commit client: %w", err)
		}
		serving.Go(func() { s.serve(ctx, conn) })
	}
}

// serve answers requests until either side closes the connection.
func (s *CommitServer) serve(ctx context.Context, conn net.Conn) {
	hangUp := func() { _ = conn.Close() }
	defer hangUp()
	defer context.AfterFunc(ctx, hangUp)()
	questions, answers := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var q commitQuestion
		if questions.Decode(&q) != nil {
			return // the client sees the error too
		}
		var a commitAnswer
		if err := s.publish(ctx, q.Title, q.Content); err != nil {
			a.Err = err.Error()
		}
		if answers.Encode(a) != nil {
			return
		}
	}
}

// A CommitClient publishes notes through a [CommitServer]. Its methods are safe for concurrent use.
type CommitClient struct {
	path string

	mu   sync.Mutex
	idle []*commitConn
}

type commitConn struct {
	net.Conn

	questions *json.Encoder
	answers   *json.Decoder
}

// NewCommitClient returns a client of the server on a unix socket. The first Publish connects.
func NewCommitClient(path string) *CommitClient { return &CommitClient{path: path} }

// Publish publishes a note. It returns when the note is committed, or with the error of the server.
func (c *CommitClient) Publish(ctx context.Context, title, content string) error {
	conn, err := c.connection(ctx)
	if err != nil {
		return fmt.Errorf("connect to the commit server: %w", err)
	}
	a, err := conn.ask(ctx, commitQuestion{title, content})
	if err != nil {
		return fmt.Errorf("request the commit of a note: %w", errors.Join(ctx.Err(), err))
	}
	c.mu.Lock()
	c.idle = append(c.idle, conn)
	c.mu.Unlock()
	if a.Err != "" {
		return fmt.Errorf("commit a note: %s", a.Err)
	}
	return nil
}

// connection returns an idle connection or a new one, so that there are no more connections than
// parallel notes.
func (c *CommitClient) connection(ctx context.Context) (*commitConn, error) {
	if conn := c.used(); conn != nil {
		return conn, nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.path)
	if err != nil {
		return nil, err
	}
	return &commitConn{conn, json.NewEncoder(conn), json.NewDecoder(conn)}, nil
}

// used returns the most recently used idle connection; nil if all are in use.
func (c *CommitClient) used() *commitConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return nil
	}
	conn := c.idle[last]
	c.idle = c.idle[:last]
	return conn
}

// ask closes the connection unless it returns an answer.
func (c *commitConn) ask(ctx context.Context, q commitQuestion) (a commitAnswer, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	if err = c.questions.Encode(q); err == nil {
		err = c.answers.Decode(&a)
	}
	if !stop() && err == nil {
		err = ctx.Err() // the connection was closed after the answer
	}
	if err != nil {
		_ = c.Close()
	}
	return a, err
}

// Close closes the idle connections.
func (c *CommitClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, conn := range c.idle {
		err = errors.Join(err, conn.Close())
	}
	c.idle = nil
	return err
}
