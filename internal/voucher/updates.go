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
	updateEvery = 250 * time.Millisecond // two states of a sale are sent so far apart
	// A sale opens and ends without anybody saying so, and a piece that Redis gives
	// out is told only when its order is stored.
	updateRefresh = time.Second
)

// StockKey is the name by which a sale is watched: whoever tells it has those who
// watch look again.
func StockKey(id int64) string { return "stock:" + decimal(id) }

// Subscribe is how a sale stands, at once, and then each change of it, coalesced, at most four
// times a second, until the sale is over. It is the same for all who watch it, and read
// once for all of a process. What is no flash voucher is a fault; a [Config] without a hub
// has nobody watch.
func (s *Service) Subscribe(ctx context.Context, id int64) (broadcast.Source, error) {
	if _, err := s.State(ctx, id); err != nil {
		if errors.Is(err, apierror.ErrNotFound) {
			return nil, apierror.BadInput("there is no such flash voucher")
		}
		return nil, err
	}
	return s.live.Of(StockKey(id), notify.UpdateOptions[*State]{
		Read:    func(ctx context.Context) (*State, error) { return s.certain(ctx, id) },
		Same:    func(a, b *State) bool { return a.same(b) },
		Final:   func(state *State) bool { return state.Phase == Ended },
		Every:   updateEvery,
		Refresh: updateRefresh,
	}), nil
}

// certain is State, but for one that says that the sale is over: its merchant may have
// moved the end a moment ago, which another process has not heard of yet.
func (s *Service) certain(ctx context.Context, id int64) (*State, error) {
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
