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

// The two types of vouchers, as ids name them.
const (
	ordinaryVoucher = "OrdinaryVoucher"
	flashVoucher    = "FlashVoucher"
)

// voucherNumber returns the number of an id of a voucher, whichever it is.
func voucherNumber(id scalar.ID) (int64, error) {
	if id.Type == ordinaryVoucher || id.Type == flashVoucher {
		return id.N, nil
	}
	return 0, apierror.BadInput("this is an id of type %s, not of a voucher", id.Type)
}

// voucherNode is a voucher as an object of its type, null for none.
func voucherNode(v *voucher.Voucher) voucher.Kind {
	if v == nil {
		return nil
	}
	return v.Kind()
}

// voucherOfType is the same, and null if the voucher is of the other type: each has
// one id.
func voucherOfType(v *voucher.Voucher, typ string) voucher.Kind {
	if v == nil || (v.Sale != nil) != (typ == flashVoucher) {
		return nil
	}
	return v.Kind()
}

func flashNode(e *voucher.Edge) *voucher.Flash { return (*voucher.Flash)(e.Node) }

// readsVouchers is the reader of one of the two types.
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

// vouchersOf reads the vouchers of shops: to their owners, and to administrators,
// those that are not on sale too.
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

// voucherEditor is who asks for a change of a voucher.
func voucherEditor(ctx context.Context) voucher.Editor {
	return voucher.Editor(editor(ctx))
}

// voucherDetails puts the arguments of createVoucher together as the room wants them.
func voucherDetails(in model.CreateVoucherInput) (voucher.Details, error) {
	shopID, err := in.ShopID.Of("Shop")
	return voucher.Details{
		ShopID: shopID, Title: in.Title, SubTitle: in.SubTitle, Rules: in.Rules,
		PayValue: in.PayValue, FaceValue: in.FaceValue, OnePerUser: in.OnePerUser,
	}, err
}

// flashDetails puts the arguments of createFlashVoucher together as the room wants
// them.
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

// voucherChanges puts the arguments of updateVoucher together as the room wants them.
func voucherChanges(in model.UpdateVoucherInput) voucher.Changes {
	return voucher.Changes{Title: field(in.Title), SubTitle: field(in.SubTitle), Rules: field(in.Rules), Status: field(in.Status)}
}

// flashChanges puts the arguments of updateFlashVoucher together as the room wants
// them.
func flashChanges(in model.UpdateFlashVoucherInput) voucher.FlashChanges {
	return voucher.FlashChanges{
		Changes: voucher.Changes{
			Title: field(in.Title), SubTitle: field(in.SubTitle), Rules: field(in.Rules), Status: field(in.Status),
		},
		StockDelta: in.StockDelta.Value(), BeginsAt: field(in.BeginsAt), EndsAt: field(in.EndsAt),
	}
}
