package voucher

import (
	"testing"
	"time"
)

func TestPhaseFollowsTheWindowAndTheStock(t *testing.T) {
	sale := &Sale{BeginsAt: noon, EndsAt: noon.Add(time.Hour)}
	const ms = time.Millisecond
	tests := []struct {
		name  string
		after time.Duration // noon
		stock int
		want  Phase
	}{
		{"before the begin", -ms, 5, Upcoming},
		{"before the begin, without a piece", -ms, 0, Upcoming},
		{"at the begin", 0, 5, Open},
		{"the last piece", 0, 1, Open},
		{"no piece", 0, 0, SoldOut},
		{"less than none", 0, -1, SoldOut},
		{"the last moment", time.Hour - ms, 5, Open},
		{"at the end", time.Hour, 5, Ended},
		{"at the end, sold out", time.Hour, 0, Ended},
	}
	for _, tt := range tests {
		if got := sale.Phase(noon.Add(tt.after), tt.stock); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestStatusIsThatOfTheMerchantUntilTheEnd(t *testing.T) {
	sale := &Sale{BeginsAt: noon.Add(-time.Hour), EndsAt: noon}
	tests := []struct {
		name string
		v    Voucher
		now  time.Time
		want Status
	}{
		{"an ordinary one", Voucher{}, noon, OnSale},
		{"an ordinary one that was taken off", Voucher{Off: true}, noon, OffSale},
		{"a flash voucher before its begin", Voucher{Sale: sale}, noon.Add(-2 * time.Hour), OnSale},
		{"a flash voucher before its end", Voucher{Sale: sale}, noon.Add(-1), OnSale},
		{"a flash voucher that was taken off", Voucher{Off: true, Sale: sale}, noon.Add(-1), OffSale},
		{"a flash voucher at its end", Voucher{Sale: sale}, noon, Expired},
		{"a flash voucher that was taken off, at its end", Voucher{Off: true, Sale: sale}, noon, Expired},
	}
	for _, tt := range tests {
		if got := tt.v.Status(tt.now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
