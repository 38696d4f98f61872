package graph

import (
	"context"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/voucher"
)

// Types of vouchers in ids.
const (
	ordinaryVoucher = "OrdinaryVoucher"
	flashVoucher    = "FlashVoucher"
)

// voucherNumber returns the number of a voucher id of either type.
func voucherNumber(id scalar.ID) (int64, error) {
	if id.Type == ordinaryVoucher || id.Type == flashVoucher {
		return id.N, nil
	}
	return 0, apierror.BadInput("invalid id: type %s, want a voucher", id.Type)
}

// voucherNode returns a voucher as an object of its type, or nil for nil.
func voucherNode(v *voucher.Voucher) voucher.Kind {
	if v == nil {
		return nil
	}
	return v.Kind()
}

// voucherOfType is voucherNode, but returns nil if the voucher has the other type: each
// voucher has one id.
func voucherOfType(v *voucher.Voucher, typ string) voucher.Kind {
	if v == nil || (v.Sale != nil) != (typ == flashVoucher) {
		return nil
	}
	return v.Kind()
}

func flashNode(e *voucher.Edge) *voucher.Flash { return (*voucher.Flash)(e.Node) }

func (r *Resolver) readsVouchers(typ string) reader {
	return func(ctx context.Context, numbers []int64) (map[int64]scalar.Node, error) {
		found, err := r.services.Vouchers.ByIDs(ctx, numbers)
		if err != nil {
			return nil, err
		}
		out := make(map[int64]scalar.Node, len(found))
		for n, v := range found {
			if node := voucherOfType(v, typ); node != nil {
				out[n] = node
			}
		}
		return out, nil
	}
}

// vouchersOf reads the vouchers of shops. Owners and administrators also see those that
// are not on sale.
func (r *Resolver) vouchersOf(ctx context.Context, shops []*shop.Shop) ([][]voucher.Kind, error) {
	by := editor(ctx)
	ids, owned := make([]int64, len(shops)), map[int64]bool{}
	for i, s := range shops {
		ids[i] = s.ID
		owned[s.ID] = by.IsAdmin || by.UserID != 0 && optional.Value(s.OwnerID) == by.UserID
	}
	found, err := r.services.Vouchers.ByShops(ctx, ids, func(id int64) bool { return owned[id] })
	if err != nil {
		return nil, err
	}
	return convert(ids, func(id int64) []voucher.Kind { return convert(found[id], voucherNode) }), nil
}

func voucherEditor(ctx context.Context) voucher.Editor {
	return voucher.Editor(editor(ctx))
}

func voucherDetails(in model.CreateVoucherInput) (voucher.Details, error) {
	shopID, err := in.ShopID.Of("Shop")
	return voucher.Details{
		ShopID: shopID, Title: in.Title, SubTitle: in.SubTitle, Rules: in.Rules,
		PayValue: in.PayValue, FaceValue: in.FaceValue, OnePerUser: in.OnePerUser,
	}, err
}

func flashDetails(in model.CreateFlashVoucherInput) (voucher.FlashDetails, error) {
	shopID, err := in.ShopID.Of("Shop")
	return voucher.FlashDetails{
		Details: voucher.Details{
			ShopID: shopID, Title: in.Title, SubTitle: in.SubTitle, Rules: in.Rules,
			PayValue: in.PayValue, FaceValue: in.FaceValue, OnePerUser: true,
		},
		Stock: in.Stock, BeginsAt: in.BeginsAt, EndsAt: in.EndsAt,
	}, err
}

func voucherChanges(in model.UpdateVoucherInput) voucher.Changes {
	return voucher.Changes{Title: field(in.Title), SubTitle: field(in.SubTitle), Rules: field(in.Rules), Status: field(in.Status)}
}

func flashChanges(in model.UpdateFlashVoucherInput) voucher.FlashChanges {
	return voucher.FlashChanges{
		Changes: voucher.Changes{
			Title: field(in.Title), SubTitle: field(in.SubTitle), Rules: field(in.Rules), Status: field(in.Status),
		},
		StockDelta: in.StockDelta.Value(), BeginsAt: field(in.BeginsAt), EndsAt: field(in.EndsAt),
	}
}
