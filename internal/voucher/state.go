package voucher

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Ordinary is the type of a voucher without a sale, see [Voucher.Kind].
type Ordinary Voucher

// Flash is the type of a voucher with a sale, see [Voucher.Kind].
type Flash Voucher

// A Kind is an [*Ordinary] or a [*Flash].
type Kind interface {
	IsNode()
	kind()
}

// IsNode marks a type with a global id.
func (Ordinary) IsNode() {}

// IsNode marks a type with a global id.
func (Flash) IsNode() {}

func (Ordinary) kind() {}
func (Flash) kind()    {}

// Kind returns the voucher as an [*Ordinary] or a [*Flash].
func (v *Voucher) Kind() Kind {
	if v.Sale == nil {
		return (*Ordinary)(v)
	}
	return (*Flash)(v)
}

// Voucher returns the flash voucher as a [*Voucher].
func (v *Flash) Voucher() *Voucher { return (*Voucher)(v) }

// A State is the state of a sale at a time.
type State struct {
	VoucherID    int64
	Stock        int // items left
	InitialStock int
	BeginsAt     time.Time
	EndsAt       time.Time
	Phase        Phase
}

// State returns the state of the sale at a time with the given stock.
func (s *Sale) State(now time.Time, stock int) State {
	return State{
		VoucherID: s.VoucherID, Stock: stock, InitialStock: s.InitialStock,
		BeginsAt: s.BeginsAt, EndsAt: s.EndsAt, Phase: s.Phase(now, stock),
	}
}

// States returns the states of the sales of flash vouchers, in the same order, with one round
// trip to Redis. If Redis does not have the stock of a sale, it uses the row.
func (s *Service) States(ctx context.Context, flash []*Voucher) ([]*State, error) {
	ctx, span := observe.Span(ctx, "voucher.States")
	defer span.End()
	ids := make([]int64, len(flash))
	for i, v := range flash {
		ids[i] = v.ID
	}
	left, err := s.sales.Stocks(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read stocks of %d sales: %w", len(ids), err)
	}
	now, states := s.now(), make([]*State, len(flash))
	for i, v := range flash {
		state := v.Sale.State(now, left[v.ID])
		states[i] = &state
	}
	return states, nil
}

// State is [Service.States] for one voucher. It returns [apierror.ErrNotFound] if there is no
// such flash voucher.
func (s *Service) State(ctx context.Context, id int64) (*State, error) {
	v, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if v.Sale == nil {
		return nil, apierror.ErrNotFound
	}
	states, err := s.States(ctx, []*Voucher{v})
	if err != nil {
		return nil, err
	}
	return states[0], nil
}
