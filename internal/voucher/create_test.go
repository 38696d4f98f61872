package voucher

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func TestEachBoundOfAVoucherHolds(t *testing.T) {
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
		want []string // nil if it is stored
	}{
		{"the longest title", func(d *FlashDetails) { d.Title = long(MaxTitle) }, nil},
		{"a longer title", func(d *FlashDetails) { d.Title = long(MaxTitle + 1) }, invalid("title")},
		{"the longest title, in characters of four bytes", func(d *FlashDetails) { d.Title = strings.Repeat("🍜", MaxTitle) }, nil},
		{"no title", func(d *FlashDetails) { d.Title = "" }, invalid("title")},
		{"a blank title", func(d *FlashDetails) { d.Title = " \u200d\t" }, invalid("title")},
		{"the longest second title", func(d *FlashDetails) { d.SubTitle = new(long(MaxSubTitle)) }, nil},
		{"a longer second title", func(d *FlashDetails) { d.SubTitle = new(long(MaxSubTitle + 1)) }, invalid("subTitle")},
		{"a blank second title", func(d *FlashDetails) { d.SubTitle = new(" ") }, nil},
		{"no second title", func(d *FlashDetails) { d.SubTitle = nil }, nil},
		{"the longest rules", func(d *FlashDetails) { d.Rules = new(long(MaxRules)) }, nil},
		{"longer rules", func(d *FlashDetails) { d.Rules = new(long(MaxRules + 1)) }, invalid("rules")},
		{"rules of empty lines", func(d *FlashDetails) { d.Rules = new("\n \n") }, nil},
		{"free", func(d *FlashDetails) { d.PayValue = 0 }, invalid("payValue")},
		{"the cheapest", func(d *FlashDetails) { d.PayValue, d.FaceValue = 1, 1 }, nil},
		{"the dearest", func(d *FlashDetails) { d.PayValue, d.FaceValue = MaxValue, MaxValue }, nil},
		{"too dear", func(d *FlashDetails) { d.PayValue, d.FaceValue = MaxValue+1, MaxValue }, invalid("payValue")},
		{"worth too much", func(d *FlashDetails) { d.FaceValue = MaxValue + 1 }, invalid("faceValue")},
		{"worth nothing", func(d *FlashDetails) { d.FaceValue = 0 }, invalid("faceValue")},
		{"worth less than it costs", func(d *FlashDetails) { d.FaceValue = d.PayValue - 1 }, invalid("faceValue")},
		{"one piece", func(d *FlashDetails) { d.Stock = 1 }, nil},
		{"a million pieces", func(d *FlashDetails) { d.Stock = MaxStock }, nil},
		{"no piece", func(d *FlashDetails) { d.Stock = 0 }, invalid("stock")},
		{"more than a million", func(d *FlashDetails) { d.Stock = MaxStock + 1 }, invalid("stock")},
		{"of a millisecond", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon, noon.Add(time.Millisecond) }, nil},
		{"of less", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(day), noon.Add(day+time.Microsecond) }, invalid("endsAt")},
		{"backwards", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = d.EndsAt, d.BeginsAt }, invalid("endsAt")},
		{"of 366 days", func(d *FlashDetails) { d.EndsAt = d.BeginsAt.Add(366 * day) }, nil},
		{"of more", func(d *FlashDetails) { d.EndsAt = d.BeginsAt.Add(366*day + time.Millisecond) }, invalid("endsAt")},
		{"over now", func(d *FlashDetails) { d.EndsAt = noon }, invalid("endsAt")},
		{"without a window", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = time.Time{}, time.Time{} }, invalid("endsAt")},
		{"opens later", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(day), noon.Add(2*day) }, nil},
		{"opens in 366 days", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(366*day), noon.Add(367*day) }, nil},
		{"opens later than that", func(d *FlashDetails) { d.BeginsAt, d.EndsAt = noon.Add(366*day+time.Millisecond), noon.Add(367*day) }, invalid("beginsAt")},
		{"no such shop, and everything wrong", func(d *FlashDetails) {
			*d = FlashDetails{Details: Details{ShopID: 1 << 40, SubTitle: new(long(201)), Rules: new(long(2001)), PayValue: -1, FaceValue: -1}, Stock: -1}
		}, append(invalid("title", "subTitle", "rules", "payValue", "faceValue", "stock", "endsAt"), "NOT_FOUND shopId")},
	}
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
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
			for who, got := range map[string]*Voucher{"returned": v, "read": read(t, s, v.ID), "read elsewhere": read(t, other, v.ID)} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", tt.name, who, diff)
				}
			}
			in := kept{d.Stock, d.Stock, 1, d.BeginsAt.UnixMilli(), d.EndsAt.UnixMilli(), true}
			if got := w.sales.get(v.ID); got != in {
				t.Errorf("%s: Redis has %+v, want %+v", tt.name, got, in)
			}
		}
		if n := jobs(t, s); n != 0 {
			t.Errorf("%d jobs are left to the outbox", n)
		}
	})
}

// expected is the voucher that these details describe.
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

func TestAnOrdinaryVoucherIsStoredAsDescribed(t *testing.T) {
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
		s, other := process(), process()
		for _, d := range []Details{lunch(w), with(lunch(w), func(d *Details) { d.OnePerUser, d.SubTitle, d.Rules = true, nil, nil })} {
			v := create(t, s, w, d)
			for who, got := range map[string]*Voucher{"returned": v, "read": read(t, s, v.ID), "read elsewhere": read(t, other, v.ID)} {
				if diff := cmp.Diff(expected(d, v.ID), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", who, diff)
				}
			}
			if _, told := w.told.Load(v.ID); !told {
				t.Error("nobody was told")
			}
		}
		_, err := s.Create(t.Context(), w.owner(), Details{ShopID: 1 << 40, PayValue: 5, FaceValue: 4})
		if diff := cmp.Diff([]string{"INVALID_INPUT title", "INVALID_INPUT faceValue", "NOT_FOUND shopId"}, reasons(err)); diff != "" {
			t.Error(diff)
		}
		if len(w.sales.there) > 0 {
			t.Error("Redis got a sale")
		}
	})
}

func TestOnlyAShopsOwnerOrAnAdministratorSells(t *testing.T) {
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
		s := process()
		bob := user(t, s)
		ours, free := w.shop, newShop(t, s, 0)
		tests := []struct {
			name string
			by   Editor
			shop int64
			want apierror.Kind // "" if it is allowed
		}{
			{"the owner", Editor{UserID: w.ann}, ours, ""},
			{"another", Editor{UserID: bob}, ours, apierror.Forbidden},
			{"nobody", Editor{}, ours, apierror.Forbidden},
			{"an administrator", Editor{UserID: bob, IsAdmin: true}, ours, ""},
			{"somebody, at a shop of nobody", Editor{UserID: bob}, free, apierror.Forbidden},
			{"nobody, at a shop of nobody", Editor{}, free, apierror.Forbidden},
			{"an administrator, at a shop of nobody", Editor{UserID: bob, IsAdmin: true}, free, ""},
		}
		for _, tt := range tests {
			ordinary, flash := lunch(w), dinner(w, 5)
			ordinary.ShopID, flash.ShopID = tt.shop, tt.shop
			admin := Editor{IsAdmin: true}
			there, err := s.Create(t.Context(), admin, ordinary)
			if err != nil {
				t.Fatal(err)
			}
			thereFlash, err := s.CreateFlash(t.Context(), admin, flash)
			if err != nil {
				t.Fatal(err)
			}
			change := Changes{Title: optional.Set("New")}
			calls := map[string]func() error{
				"create":      func() error { _, err := s.Create(t.Context(), tt.by, ordinary); return err },
				"createFlash": func() error { _, err := s.CreateFlash(t.Context(), tt.by, flash); return err },
				"update":      func() error { _, err := s.Update(t.Context(), tt.by, there.ID, change); return err },
				"updateFlash": func() error {
					_, err := s.UpdateFlash(t.Context(), tt.by, thereFlash.ID, FlashChanges{Changes: change})
					return err
				},
			}
			for name, call := range calls {
				switch err := call(); {
				case tt.want == "" && err != nil, tt.want != "" && (err == nil || apierror.KindOf(err) != tt.want):
					t.Errorf("%s: %s: %v, want %q", tt.name, name, err, tt.want)
				}
			}
			for _, id := range []int64{there.ID, thereFlash.ID} {
				if changed := read(t, s, id).Title == "New"; changed != (tt.want == "") {
					t.Errorf("%s: the voucher changed: %v", tt.name, changed)
				}
			}
		}
	})
}
