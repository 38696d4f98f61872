package voucher

import (
	"time"

	"github.com/tandian-dev/tandian/ent"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

// fromRow is a voucher with its sale, which is nil for an ordinary one.
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

// moment is a time that is stored as milliseconds, in the form in which it comes
// out of the cache too.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
