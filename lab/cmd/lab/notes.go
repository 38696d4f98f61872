package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/lab/bench"
	"github.com/tandian-dev/tandian/lab/salebench"
)

// benchNotes measures publishing and liking in a whole server without HTTP.
func (c *commands) benchNotes(ctx context.Context, cmd *call) error {
	if cmd.Int("clients") < 1 || cmd.Int("rows") < 1000 {
		return cmdline.Refuse("--clients must be at least 1, --rows at least 1000")
	}
	return bench.Notes(ctx, bench.NotesOptions{Clients: cmd.Int("clients"), Rows: cmd.Int("rows"), Open: openNoteServer}, c.stdout, c.stderr)
}

// noteServer is a server without HTTP and its users, for bench notes.
type noteServer struct {
	*saleServer
	people []int64
}

// openNoteServer opens a server on stores and runs its background work.
func openNoteServer(ctx context.Context, databaseURL, redisURL string) (bench.Writers, func() error, error) {
	server, err := newSaleServer(ctx, salebench.Stores{DatabaseURL: databaseURL, RedisURL: redisURL}, config.Default().RedisPrefix)
	if err != nil {
		return nil, nil, err
	}
	drafts := make([]account.Draft, bench.NotesUsers)
	for i := range drafts {
		drafts[i] = account.Draft{ExternalID: fmt.Sprint(i), Nickname: fmt.Sprint(i), Role: account.Customer}
	}
	people, err := server.Accounts.BulkInsert(ctx, drafts, func(int) {})
	if err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	return &noteServer{server, people}, server.begin(ctx), nil
}

// Publish publishes a note about the shop.
func (h *noteServer) Publish(ctx context.Context, user int64) (int64, error) {
	made, err := h.Notes.Publish(ctx, h.people[user-1], note.Draft{ShopID: h.shop, Title: "Tea", Content: "Good tea."})
	if err != nil {
		return 0, err
	}
	return made.ID, nil
}

// Like sets or removes a user's like of a note.
func (h *noteServer) Like(ctx context.Context, user, id int64, likes bool) error {
	if likes {
		return h.NoteLikes.Like(ctx, h.people[user-1], id)
	}
	return h.NoteLikes.Unlike(ctx, h.people[user-1], id)
}

// DB returns the database.
func (h *noteServer) DB() *sql.DB { return h.Components.DB.DB }
