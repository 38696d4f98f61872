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
		after time.Duration // after noon
		stock int
		want  Phase
	}{
		{"before the start", -ms, 5, Upcoming},
		{"before the start, no stock", -ms, 0, Upcoming},
		{"at the start", 0, 5, Open},
		{"last item", 0, 1, Open},
		{"no stock", 0, 0, SoldOut},
		{"negative stock", 0, -1, SoldOut},
		{"last moment", time.Hour - ms, 5, Open},
		{"at the end", time.Hour, 5, Ended},
		{"at the end, sold out", time.Hour, 0, Ended},
	}
	for _, tt := range tests {
		if got := sale.Phase(noon.Add(tt.after), tt.stock); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestStatusIsExpiredAfterTheEnd(t *testing.T) {
	sale := &Sale{BeginsAt: noon.Add(-time.Hour), EndsAt: noon}
	tests := []struct {
		name string
		v    Voucher
		now  time.Time
		want Status
	}{
		{"ordinary", Voucher{}, noon, OnSale},
		{"ordinary, off sale", Voucher{Off: true}, noon, OffSale},
		{"flash before its start", Voucher{Sale: sale}, noon.Add(-2 * time.Hour), OnSale},
		{"flash before its end", Voucher{Sale: sale}, noon.Add(-1), OnSale},
		{"flash, off sale", Voucher{Off: true, Sale: sale}, noon.Add(-1), OffSale},
		{"flash at its end", Voucher{Sale: sale}, noon, Expired},
		{"flash, off sale, at its end", Voucher{Off: true, Sale: sale}, noon, Expired},
	}
	for _, tt := range tests {
		if got := tt.v.Status(tt.now); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
