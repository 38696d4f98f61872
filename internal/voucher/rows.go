package voucher

import (
	"time"

	"github.com/tandian-dev/tandian/ent"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

// fromRow converts a voucher with its sale, which is nil for an ordinary voucher.
func fromRow(r *ent.Voucher, sale *ent.FlashSale) *Voucher {
	v := &Voucher{
		ID: r.ID, ShopID: r.ShopID, Title: r.Title, SubTitle: r.SubTitle, Rules: r.Rules, PayValue: r.PayValue, FaceValue: r.FaceValue,
		OnePerUser: r.OnePerUser, Off: r.Status == entvoucher.StatusOFF_SALE, Version: r.Version,
		FirstTermsID: optional.Value(r.FirstTermsID),
	}
	if sale != nil {
		v.Sale = &Sale{
			VoucherID: sale.ID, InitialStock: sale.InitialStock, BeginsAt: moment(sale.BeginsAt), EndsAt: moment(sale.EndsAt),
			Partition: sale.Partition, Buckets: sale.Buckets, EditSeq: sale.EditSeq,
		}
	}
	return v
}

// moment converts stored milliseconds to the UTC form that the cache returns too.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
