package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/lab/bench"
	"github.com/tandian-dev/tandian/lab/livebench"
)

// liveProcess runs a server of bench live, or the author of its notes.
func (c *commands) liveProcess(ctx context.Context, _ *call) error {
	return livebench.Process(ctx, os.Stdin, c.stdout, func(ctx context.Context, s livebench.Setting) (*livebench.Server, error) {
		log := observe.NewLogger(c.stderr, "auto", slog.LevelError)
		if s.Role == livebench.Publishes {
			return openLiveAuthor(ctx, s, log)
		}
		cfg := liveConfig(s)
		cfg.Addr, cfg.Run = "127.0.0.1:0", []string{"api"}
		cfg.RateAnonymous, cfg.RateUser, cfg.ConnsPerAddress, cfg.Conns = 0, 0, 0, 0 // all users have one address
		cfg.Limits = []string{"looks=off"}
		addr, err := startServer(ctx, &cfg, log)
		return &livebench.Server{Addr: addr}, err
	})
}

// liveConfig returns the settings of both. Every author is a celebrity, so nothing is pushed into
// inboxes; bench feed measures that cost.
func liveConfig(s livebench.Setting) config.Config {
	cfg := config.Default()
	cfg.DatabaseURL, cfg.RedisURL, cfg.LogReader, cfg.FeedPushThreshold = s.DatabaseURL, s.RedisURL, "off", 1
	return cfg
}

// openLiveAuthor opens a server without HTTP, starts its background work and creates the author.
func openLiveAuthor(ctx context.Context, s livebench.Setting, log *slog.Logger) (*livebench.Server, error) {
	cfg := liveConfig(s)
	server, err := openWithShop(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	server.begin(ctx) // until the process ends
	var author int64
	people := func(ctx context.Context, p livebench.People) ([]int64, error) {
		ids, err := bench.LivePeople(ctx, server.DB.DB, author, p)
		if err != nil {
			return nil, err
		}
		return ids, server.Accounts.Invalidate(ctx, ids...) // servers that know all user ids would treat new ones as absent
	}
	authors, err := people(ctx, livebench.People{Number: 1})
	if err != nil {
		return nil, err
	}
	author = authors[0]
	publish := func(ctx context.Context, title, content string) error {
		_, err := server.Notes.Publish(ctx, author, note.Draft{ShopID: server.shop, Title: title, Content: content})
		return err
	}
	if s.Commits != "" {
		commits, err := livebench.ListenForCommits(ctx, s.Commits, publish)
		if err != nil {
			return nil, err
		}
		go func() { // until the process ends
			if err := commits.Run(ctx); err != nil {
				log.ErrorContext(ctx, "cannot commit notes of other processes", "err", err)
			}
		}()
	}
	return &livebench.Server{
		People: func(ctx context.Context, p livebench.People) ([]string, error) {
			ids, err := people(ctx, p)
			if err != nil {
				return nil, err
			}
			return server.Accounts.CreateSessions(ctx, ids)
		},
		Publish: publish,
	}, nil
}
