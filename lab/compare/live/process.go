package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/tandian-dev/tandian/lab/livebench"
)

// processEnv is set if this program is a process of the comparison: the crowd, or the server or the
// author of a contender.
const processEnv = "BENCH_LIVE_PROCESS"

const (
	isCrowd     = "crowd"
	isContender = "contender"
)

// patience limits any operation on a busy machine.
const patience = 30 * time.Second

// IsProcess reports whether this program must run [Process] only.
func IsProcess() bool { return os.Getenv(processEnv) != "" }

// Process runs a process of the comparison. It returns when in ends.
func Process(ctx context.Context, in io.Reader, out io.Writer) error {
	if os.Getenv(processEnv) == isCrowd {
		return serveCrowd(ctx, in, out)
	}
	return livebench.Process(ctx, in, out, func(ctx context.Context, s livebench.Setting) (*livebench.Server, error) {
		for _, w := range append(ways(), committedWay()) {
			if w.name == s.Way {
				return w.start(ctx, s)
			}
		}
		return nil, fmt.Errorf("unknown way %q", s.Way)
	})
}

// A way is a contender whose server is in this module.
type way struct {
	name string
	protocol
	serve  func(ctx context.Context, redisURL string) (http.Handler, error)
	author func(ctx context.Context, redisURL string) (publish func(ctx context.Context, data []byte) error, err error)
}

func ways() []way {
	return []way{
		{centrifugeName, centrifugo, centrifugeServer(false), centrifugeAuthor(false)},
		{recoveryName, centrifugo, centrifugeServer(true), centrifugeAuthor(true)},
		{gqlgenName, graphQL, gqlgenServer, gqlgenAuthor},
	}
}

// committedWay is Tandian's author in the table committed. It publishes items after their notes are
// committed.
func committedWay() way {
	return way{name: oursName, protocol: graphQL, author: func(context.Context, string) (func(context.Context, []byte) error, error) {
		return func(context.Context, []byte) error { return nil }, nil
	}}
}

func (w way) start(ctx context.Context, s livebench.Setting) (*livebench.Server, error) {
	if s.Role == livebench.Publishes {
		return w.startAuthor(ctx, s)
	}
	handler, err := w.serve(ctx, s.RedisURL)
	if err != nil {
		return nil, fmt.Errorf("start a server of %s: %w", w.name, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) { // until the process ends
			fmt.Fprintln(os.Stderr, "live:", err)
		}
	}()
	return &livebench.Server{Addr: listener.Addr().String()}, nil
}

// startAuthor starts an author that publishes items, after a commit of each if notes are stored.
func (w way) startAuthor(ctx context.Context, s livebench.Setting) (*livebench.Server, error) {
	publish, err := w.author(ctx, s.RedisURL)
	if err != nil {
		return nil, fmt.Errorf("start an author of %s: %w", w.name, err)
	}
	commit := func(context.Context, string, string) error { return nil }
	if s.Commits != "" {
		commit = livebench.NewCommitClient(s.Commits).Publish // until the process ends
	}
	return &livebench.Server{Publish: func(ctx context.Context, title, content string) error {
		if err := commit(ctx, title, content); err != nil {
			return err
		}
		data, err := item(title, content)
		if err != nil {
			return err
		}
		return publish(ctx, data)
	}}, nil
}
