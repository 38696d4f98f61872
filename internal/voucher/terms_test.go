package voucher

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/optional"
)

// An edit of texts keeps the earlier texts. Other edits keep none.
func TestEditsKeepEarlierTerms(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		ctx := t.Context()
		for _, v := range []*Voucher{create(t, s, w, lunch(w)), createFlash(t, s, w, dinner(w, 5))} {
			edit := func(c Changes) (first, current int64) {
				t.Helper()
				var err error
				if v.Sale == nil {
					_, err = s.Update(ctx, w.owner(), v.ID, c)
				} else {
					_, err = s.UpdateFlash(ctx, w.owner(), v.ID, FlashChanges{Changes: c, StockDelta: new(1)})
				}
				if err != nil {
					t.Fatal(err)
				}
				row := s.db.Voucher.GetX(ctx, v.ID)
				return optional.Value(row.FirstTermsID), optional.Value(row.TermsID)
			}
			if first, current := edit(Changes{Status: optional.Set(OffSale)}); first != 0 || current != 0 {
				t.Errorf("%s: got terms %d and %d after an edit of the status, want none", v.Title, first, current)
			}
			first, second := edit(Changes{Title: optional.Set("Half price")})
			same, third := edit(Changes{Rules: optional.Clear[string]()})
			if same != first || third == second {
				t.Errorf("%s: got first terms %d and %d, next %d and %d", v.Title, first, same, second, third)
			}
			if _, fourth := edit(Changes{Title: optional.Set("Half price"), Status: optional.Set(OnSale)}); fourth != third {
				t.Errorf("%s: got terms %d and %d for the same texts", v.Title, third, fourth)
			}
			if got := read(t, other, v.ID).FirstTermsID; got != first {
				t.Errorf("%s: got first terms %d of the voucher, want %d", v.Title, got, first)
			}
			got, err := other.TermsByIDs(ctx, []int64{first, second, third, third + 100})
			if err != nil {
				t.Fatal(err)
			}
			want := map[int64]*Terms{
				first:  {Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, FaceValue: v.FaceValue},
				second: {Title: "Half price", SubTitle: v.SubTitle, Rules: v.Rules, FaceValue: v.FaceValue},
				third:  {Title: "Half price", SubTitle: v.SubTitle, FaceValue: v.FaceValue},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", v.Title, diff)
			}
		}
	})
}

// firstTerms returns the first terms of a voucher and requires that they exist.
func firstTerms(t *testing.T, s *Service, id int64) int64 {
	t.Helper()
	first := optional.Value(s.db.Voucher.GetX(t.Context(), id).FirstTermsID)
	if first == 0 {
		t.Errorf("voucher %d has no first terms", id)
	}
	return first
}
