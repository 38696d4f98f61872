package voucher

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func TestVoucherBoundsAreChecked(t *testing.T) {
	long := func(n int) string { return strings.Repeat("火", n) }
	invalid := func(fields ...string) (list []string) {
		for _, f := range fields {
			list = append(list, "INVALID_INPUT "+f)
		}
		return list
	}
	const day = 24 * time.Hour
	tests := []struct {
		name string
		edit func(*FlashDetails)
		want []string // nil: stored
	}{
		{"longest title", func(d *FlashDetails) { d.Title = long(MaxTitle) }, nil},
		{"long title", func(d *FlashDetails) { d.Title = long(MaxTitle + 1) }, invalid("title")},
		{"longest title of 4-byte characters", func(d *FlashDetails) { d.Title = strings.Repeat("🍜", MaxTitle) }, nil},
		{"no title", func(d *FlashDetails) { d.Title = "" }, invalid("title")},
		{"blank title", func(d *FlashDetails) { d.Title = " \u200d\t" }, invalid("title")},
		{"longest subtitle", func(d *FlashDetails) { d.SubTitle = new(long(MaxSubTitle)) }, nil},
		{"long subtitle", func(d *FlashDetails) { d.SubTitle = new(long(MaxSubTitle + 1)) }, invalid("subTitle")},
		{"blank subtitle", func(d *FlashDetails) { d.SubTitle = new(" ") }, nil},
		{"no subtitle", func(d *FlashDetails) { d.SubTitle = nil }, nil},
		{"longest rules", func(d *FlashDetails) { d.Rules = new(long(MaxRules)) }, nil},
		{"long rules", func(d *FlashDetails) { d.Rules = new(long(MaxRules + 1)) }, invalid("rules")},
		{"blank rules", func(d *FlashDetails) { d.Rules = new("\n \n") }, nil},
		{"free", func(d *FlashDetails) { d.PayValue = 0 }, invalid("payValue")},
		{"minimum price", func(d *FlashDetails) { d.PayValue, d.FaceValue = 1, 1 }, nil},
		{"maximum price", func(d *FlashDetails) { d.PayValue, d.FaceValue = MaxValue, MaxValue }, nil},
		{"high price", func(d *FlashDetails) { d.PayValue, d.FaceValue = MaxValue+1, MaxValue }, invalid("payValue")},
		{"high value", func(d *FlashDetails) { d.FaceValue = MaxValue + 1 }, invalid("faceValue")},
		{"no value", func(d *FlashDetails) { d.FaceValue = 0 }, invalid("faceValue")},
		{"value below price", func(d *FlashDetails) { d.FaceValue = d.PayValue - 1 }, invalid("faceValue")},
		{"minimum stock", func(d *FlashDetails) { d.Stock = 1 }, nil},
		{"maximum stock", func(d *FlashDetails) { d.Stock = MaxStock }, nil},
		{"no stock", func(d *FlashDetails) { d.Stock = 0 }, invalid("stock")},
		{"high stock", func(d *FlashDetails) { d.Stock = MaxStock + 1 }, invalid("stock")},
		{"window of a millisecond", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon, noon.Add(time.Millisecond) }, nil},
		{"shorter window", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(day), noon.Add(day+time.Microsecond) }, invalid("endsAt")},
		{"end before start", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = d.EndsAt, d.BeginsAt }, invalid("endsAt")},
		{"window of 366 days", func(d *FlashDetails) { d.EndsAt = d.BeginsAt.Add(366 * day) }, nil},
		{"longer window", func(d *FlashDetails) { d.EndsAt = d.BeginsAt.Add(366*day + time.Millisecond) }, invalid("endsAt")},
		{"ended", func(d *FlashDetails) { d.EndsAt = noon }, invalid("endsAt")},
		{"no window", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = time.Time{}, time.Time{} }, invalid("endsAt")},
		{"starts later", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(day), noon.Add(2*day) }, nil},
		{"starts in 366 days", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(366*day), noon.Add(367*day) }, nil},
		{"starts after 366 days", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(366*day+time.Millisecond), noon.Add(367*day) }, invalid("beginsAt")},
		{"unknown shop and all errors", func(d *FlashDetails) {
			*d = FlashDetails{Details: Details{ShopID: 1 << 40, SubTitle: new(long(201)), Rules: new(long(2001)), PayValue: -1, FaceValue: -1}, Stock: -1}
		}, append(invalid("title", "subTitle", "rules", "payValue", "faceValue", "stock", "endsAt"), "NOT_FOUND shopId")},
	}
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		for _, tt := range tests {
			d := with(dinner(w, 10), tt.edit)
			v, err := s.CreateFlash(t.Context(), w.owner(), d)
			if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			if err != nil {
				continue
			}
			want := expected(d.Details, v.ID)
			want.OnePerUser, want.Version = true, 1
			partition, buckets := w.sales.PartitionFor(v.ID, d.Stock)
			want.Sale = &Sale{
				VoucherID: v.ID, InitialStock: d.Stock, BeginsAt: d.BeginsAt.Truncate(time.Millisecond), EndsAt: d.EndsAt.Truncate(time.Millisecond),
				Partition: partition, Buckets: buckets, EditSeq: 1,
			}
			for where, got := range map[string]*Voucher{"returned": v, "read": read(t, s, v.ID), "read elsewhere": read(t, other, v.ID)} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", tt.name, where, diff)
				}
			}
			in := redisSale{d.Stock, d.Stock, 1, d.BeginsAt.UnixMilli(), d.EndsAt.UnixMilli(), true}
			if got := w.sales.get(v.ID); got != in {
				t.Errorf("%s: got %+v in Redis, want %+v", tt.name, got, in)
			}
		}
		if n := jobs(t, s); n != 0 {
			t.Errorf("got %d outbox jobs, want none", n)
		}
	})
}

// expected returns the voucher that the details describe.
func expected(d Details, id int64) *Voucher {
	shown := func(s *string) *string {
		if s == nil || strings.TrimSpace(*s) == "" {
			return nil
		}
		return s
	}
	return &Voucher{
		ID: id, ShopID: d.ShopID, Title: d.Title, SubTitle: shown(d.SubTitle), Rules: shown(d.Rules), PayValue: d.PayValue, FaceValue: d.FaceValue,
		OnePerUser: d.OnePerUser, Version: 1,
	}
}

func TestOrdinaryVouchersAreStoredAsDescribed(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		for _, d := range []Details{lunch(w), with(lunch(w), func(d *Details) { d.OnePerUser, d.SubTitle, d.Rules = true, nil, nil })} {
			v := create(t, s, w, d)
			for where, got := range map[string]*Voucher{"returned": v, "read": read(t, s, v.ID), "read elsewhere": read(t, other, v.ID)} {
				if diff := cmp.Diff(expected(d, v.ID), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", where, diff)
				}
			}
			if _, notified := w.changed.Load(v.ID); !notified {
				t.Error("Changed was not called")
			}
		}
		_, err := s.Create(t.Context(), w.owner(), Details{ShopID: 1 << 40, PayValue: 5, FaceValue: 4})
		if diff := cmp.Diff([]string{"INVALID_INPUT title", "INVALID_INPUT faceValue", "NOT_FOUND shopId"}, reasons(err)); diff != "" {
			t.Error(diff)
		}
		if len(w.sales.stored) > 0 {
			t.Error("got a sale in Redis, want none")
		}
	})
}

func TestOnlyOwnersAndAdministratorsEdit(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		bob := user(t, s)
		ours, free := w.shop, newShop(t, s, 0)
		tests := []struct {
			name string
			by   Editor
			shop int64
			want apierror.Kind // "": allowed
		}{
			{"owner", Editor{UserID: w.ann}, ours, ""},
			{"another user", Editor{UserID: bob}, ours, apierror.Forbidden},
			{"no user", Editor{}, ours, apierror.Forbidden},
			{"administrator", Editor{UserID: bob, IsAdmin: true}, ours, ""},
			{"user, shop without owner", Editor{UserID: bob}, free, apierror.Forbidden},
			{"no user, shop without owner", Editor{}, free, apierror.Forbidden},
			{"administrator, shop without owner", Editor{UserID: bob, IsAdmin: true}, free, ""},
		}
		for _, tt := range tests {
			ordinary, flash := lunch(w), dinner(w, 5)
			ordinary.ShopID, flash.ShopID = tt.shop, tt.shop
			admin := Editor{IsAdmin: true}
			stored, err := s.Create(t.Context(), admin, ordinary)
			if err != nil {
				t.Fatal(err)
			}
			storedFlash, err := s.CreateFlash(t.Context(), admin, flash)
			if err != nil {
				t.Fatal(err)
			}
			change := Changes{Title: optional.Set("New")}
			calls := map[string]func() error{
				"create":      func() error { _, err := s.Create(t.Context(), tt.by, ordinary); return err },
				"createFlash": func() error { _, err := s.CreateFlash(t.Context(), tt.by, flash); return err },
				"update":      func() error { _, err := s.Update(t.Context(), tt.by, stored.ID, change); return err },
				"updateFlash": func() error {
					_, err := s.UpdateFlash(t.Context(), tt.by, storedFlash.ID, FlashChanges{Changes: change})
					return err
				},
			}
			for name, call := range calls {
				switch err := call(); {
				case tt.want == "" && err != nil, tt.want != "" && (err == nil || apierror.KindOf(err) != tt.want):
					t.Errorf("%s: %s: got %v, want %q", tt.name, name, err, tt.want)
				}
			}
			for _, id := range []int64{stored.ID, storedFlash.ID} {
				if changed := read(t, s, id).Title == "New"; changed != (tt.want == "") {
					t.Errorf("%s: got changed = %v, want %v", tt.name, changed, !changed)
				}
			}
		}
	})
}
