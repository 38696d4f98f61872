package shop

// Filter holds conditions on shops; nil fields match all shops. A shop must meet all.
type Filter struct {
	OpenNow      *bool    // open now; false is known to be closed
	MinScore     *float64 // 1 to 5
	MinPrice     *int     // minor units per person
	MaxPrice     *int
	HasVoucher   *bool // a voucher is on sale
	HasFlashSale *bool // a flash voucher is on sale and has not ended
}
