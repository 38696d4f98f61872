package demo

import (
	"time"

	"github.com/tandian-dev/tandian/internal/voucher"
)

// Vouchers returns the vouchers of one shop of the demo town. Two are ordinary, one of
// them limited to one per user. One is an open flash sale, and one opens ten minutes after
// first, the first start of the installation. External ids are demo:NAME. The caller owns
// the drafts.
func Vouchers(first time.Time) []voucher.Draft {
	const shop = "demo:lotus-pond-noodles"
	first = first.Truncate(time.Minute)
	return []voucher.Draft{
		{
			ExternalID: "demo:noodles-50", Shop: shop, Title: "50元代金券 50 for 42", SubTitle: "全场通用 For everything on the menu",
			Rules: "每桌不限张数。\nAny number at a table.", PayValue: 4200, FaceValue: 5000,
		},
		{
			ExternalID: "demo:first-bowl", Shop: shop, Title: "新客第一碗 First bowl", SubTitle: "每人一份 One each",
			Rules: "限堂食。\nTo eat here.", PayValue: 990, FaceValue: 2200, OnePerUser: true,
		},
		{
			ExternalID: "demo:noon-sale", Shop: shop, Title: "秒杀：双人餐 Flash sale: dinner for two", SubTitle: "限量一百份 A hundred of them",
			Rules: "每人限一份。\nOne each.", PayValue: 3900, FaceValue: 8800,
			Stock: 100, BeginsAt: first.Add(-time.Hour), EndsAt: first.AddDate(0, 0, 30),
		},
		{
			ExternalID: "demo:next-sale", Shop: shop, Title: "秒杀：十元一碗 Flash sale: a bowl for ten", SubTitle: "马上开抢 It opens soon",
			Rules: "每人限一份。\nOne each.", PayValue: 1000, FaceValue: 2200,
			Stock: 50, BeginsAt: first.Add(10 * time.Minute), EndsAt: first.AddDate(0, 0, 31),
		},
	}
}
