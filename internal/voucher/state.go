package voucher

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Ordinary is a voucher without a sale, where the type must tell: see [Voucher.Kind].
type Ordinary Voucher

// Flash is a voucher with a sale, where the type must tell: see [Voucher.Kind].
type Flash Voucher

// A Kind is an [*Ordinary] or a [*Flash].
type Kind interface {
	IsNode()
	kind()
}

// IsNode says that there is a global id.
func (Ordinary) IsNode() {}

// IsNode says that there is a global id.
func (Flash) IsNode() {}

func (Ordinary) kind() {}
func (Flash) kind()    {}

// Kind is the voucher as its kind.
func (v *Voucher) Kind() Kind {
	if v.Sale == nil {
		return (*Ordinary)(v)
	}
	return (*Flash)(v)
}

// Voucher is a flash voucher as any other.
func (v *Flash) Voucher() *Voucher { return (*Voucher)(v) }

// A State is a sale as it stands at a moment.
type State struct {
	VoucherID    int64
	Stock        int // pieces left
	InitialStock int
	BeginsAt     time.Time
	EndsAt       time.Time
	Phase        Phase
}

// State is the sale at a moment when so many pieces are left.
func (s *Sale) State(now time.Time, stock int) State {
	return State{
		VoucherID: s.VoucherID, Stock: stock, InitialStock: s.InitialStock,
		BeginsAt: s.BeginsAt, EndsAt: s.EndsAt, Phase: s.Phase(now, stock),
	}
}

// States returns how the sales of flash vouchers stand, in their order, with one
// round trip to Redis. A sale that Redis cannot tell of stands as its row has it.
func (s *Service) States(ctx context.Context, flash []*Voucher) ([]*State, error) {
	ctx, span := observe.Span(ctx, "voucher.States")
	defer span.End()
	ids := make([]int64, len(flash))
	for i, v := range flash {
		ids[i] = v.ID
	}
	left, err := s.sales.Stocks(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("stocks of %d sales: %w", len(ids), err)
	}
	now, states := s.now(), make([]*State, len(flash))
	for i, v := range flash {
		state := v.Sale.State(now, left[v.ID])
		states[i] = &state
	}
	return states, nil
}

// State is [Service.States] of one voucher. It returns [fault.ErrNotFound] if there is
// no such flash voucher.
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
