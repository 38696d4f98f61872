package voucher

import (
	"context"
	"errors"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/notify"
)

const (
	updateEvery = 250 * time.Millisecond // minimum interval between two states
	// updateRefresh limits the delay of openings and ends, which are not notified. An admission
	// in Redis is notified when its order is stored.
	updateRefresh = time.Second
)

// StockKey returns the notification key of a sale.
func StockKey(id int64) string { return "stock:" + decimal(id) }

// Subscribe sends the current state of a sale and then each change, coalesced, at most four
// times a second, until the sale ends. All subscribers in a process share one reader. An
// unknown flash voucher is an [apierror.BadUserInput] error. It requires a Notifier in
// [Config].
func (s *Service) Subscribe(ctx context.Context, id int64) (broadcast.Source, error) {
	if _, err := s.State(ctx, id); err != nil {
		if errors.Is(err, apierror.ErrNotFound) {
			return nil, apierror.BadInput("flash voucher not found")
		}
		return nil, err
	}
	return s.updates.Of(StockKey(id), notify.UpdateOptions[*State]{
		Read:    func(ctx context.Context) (*State, error) { return s.confirmEnded(ctx, id) },
		Same:    func(a, b *State) bool { return a.same(b) },
		Final:   func(state *State) bool { return state.Phase == Ended },
		Every:   updateEvery,
		Refresh: updateRefresh,
	}), nil
}

// confirmEnded is State, but reads past local memory before it returns an ended sale. Local memory
// may not have an extension of the sale yet.
func (s *Service) confirmEnded(ctx context.Context, id int64) (*State, error) {
	state, err := s.State(ctx, id)
	if err != nil || state.Phase != Ended {
		return state, err
	}
	return s.State(cache.SkipLocal(ctx), id)
}

func (s *State) same(other *State) bool {
	return s.Stock == other.Stock && s.InitialStock == other.InitialStock && s.Phase == other.Phase &&
		s.BeginsAt.Equal(other.BeginsAt) && s.EndsAt.Equal(other.EndsAt)
}
