// Package save stores the shops and notes that users save.
package save

import (
	"context"
	"errors"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/quota"
)

// Kind is the kind of a target.
type Kind string

// Kinds of targets.
const (
	Shop Kind = "SHOP"
	Note Kind = "NOTE"
)

// Target provides the targets of saves.
type Target interface {
	// LockSaves locks targets until tx ends. It returns the number of saves of each, without
	// missing and deleted targets. add adds to the numbers; increments may be negative.
	// afterCommit updates the cache.
	LockSaves(ctx context.Context, tx *ent.Tx, ids []int64) (
		saves map[int64]int, add func(ctx context.Context, more map[int64]int) (afterCommit func(*cache.Pipeline), err error), err error)
	// InvalidateSaves invalidates the cached numbers of targets.
	InvalidateSaves(ctx context.Context, ids ...int64) error
	// Exist returns the ids of the existing targets.
	Exist(ctx context.Context, ids []int64) (map[int64]bool, error)
}

// Service provides the saves of one kind of target. It is safe for concurrent use.
type Service struct{}

// Config holds the dependencies of a Service. Kind and Target are required.
type Config struct {
	Kind   Kind
	Target Target
	Quota  *quota.Limit     // of changes per user; nil for no limit
	Now    func() time.Time // default [time.Now]
}

// Page is one page of the targets that a user saved, newest save first.
type Page struct {
	Items []Item
	Info  page.Info
}

// Item is a saved target with its cursor.
type Item struct {
	Target int64
	Cursor page.Cursor
}

var errTODO = errors.New("not implemented")

// New returns a Service.
func New(*ent.Client, *cache.Client, *outbox.Box, Config) *Service { return &Service{} }

// Save stores a save.
func (s *Service) Save(ctx context.Context, user, id int64) error { return errTODO }

// Unsave removes a save.
func (s *Service) Unsave(ctx context.Context, user, id int64) error { return errTODO }

// Saved reports which targets a user saved.
func (s *Service) Saved(ctx context.Context, user int64, ids []int64) (map[int64]bool, error) {
	return nil, errTODO
}

// List returns a page of the targets that a user saved.
func (s *Service) List(ctx context.Context, user int64, first int, after page.Cursor) (*Page, error) {
	return nil, errTODO
}
