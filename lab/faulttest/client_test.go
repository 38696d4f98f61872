package faulttest

import (
	"net/http"
	"path/filepath"
	"testing"
)

func TestClientReadsAnswers(t *testing.T) {
	for _, tt := range []struct {
		name                string
		op                  Op
		code                int
		page                string
		want, status, order string
	}{
		{"an order", OpOrder, 200, `{"data":{"orderVoucher":{"order":{"id":"x","status":"UNPAID"},"userErrors":[]}}}`, "", "UNPAID", "x"},
		{"a refusal", OpOrder, 200, `{"data":{"orderVoucher":{"order":null,"userErrors":[{"code":"OUT_OF_STOCK"}]}}}`, "OUT_OF_STOCK", "", ""},
		{"a refusal with an order", OpOrder, 200, `{"data":{"orderVoucher":{"order":{"id":"x","status":"PAID"},"userErrors":[{"code":"ALREADY_ORDERED"}]}}}`, "ALREADY_ORDERED", "PAID", "x"},
		{"neither", OpOrder, 200, `{"data":{"orderVoucher":{"order":null,"userErrors":[]}}}`, Unknown, "", ""},
		{"no data", OpOrder, 200, `{"data":null}`, Unknown, "", ""},
		{"an error with a code", OpOrder, 200, `{"data":null,"errors":[{"message":"m","extensions":{"code":"UNAVAILABLE"}}]}`, "UNAVAILABLE", "", ""},
		{"an error with a code and another status", OpOrder, http.StatusServiceUnavailable, `{"errors":[{"message":"m","extensions":{"code":"UNAVAILABLE"}}]}`, "UNAVAILABLE", "", ""},
		{"an error without a code", OpOrder, 200, `{"errors":[{"message":"m"}]}`, codeMissing, "", ""},
		{"data with another status", OpOrder, http.StatusBadGateway, `{"data":{"orderVoucher":{"order":{"id":"x","status":"UNPAID"},"userErrors":[]}}}`, Unknown, "", ""},
		{"half an answer", OpOrder, 200, `{"data":{"orderVoucher":{"ord`, Unknown, "", ""},
		{"a page of a proxy", OpOrder, http.StatusBadGateway, `<html>bad gateway</html>`, Unknown, "", ""},
		{"no order", OpRead, 200, `{"data":{"order":null}}`, codeAbsent, "", "asked"},
		{"a failed order", OpRead, 200, `{"data":{"order":{"id":"asked","status":"FAILED","failure":{"code":"ORDER_NOT_COMPLETED"}}}}`, "", "FAILED", "asked"},
		{"no user", OpMe, 200, `{"data":{"me":null}}`, codeSignedOut, "", ""},
		{"the user", OpMe, 200, `{"data":{"me":{"id":"u"}}}`, "", "", ""},
		{"another user", OpMe, 200, `{"data":{"me":{"id":"v"}}}`, codeWrongUser, "", ""},
		{"a voucher", OpOpen, 200, `{"data":{"createFlashVoucher":{"voucher":{"id":"v","sale":{"initialStock":5}},"userErrors":[]}}}`, "", "", ""},
		{"no voucher", OpOpen, 200, `{"data":{"createFlashVoucher":null}}`, Unknown, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := (&fakeServer{}).serve(t)
			at.page.Store(tt.page)
			at.code.Store(int64(tt.code))
			h, err := Create(filepath.Join(t.TempDir(), "history"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			c, err := newClient(at, h, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			e := Event{Op: tt.op}
			if tt.op == OpRead {
				e.Order = "asked"
			}
			e = c.do(t.Context(), Person{ID: "u", Token: "t"}, e, nil)
			if e.Code != tt.want || e.Status != tt.status || e.Order != tt.order {
				t.Errorf("got %+v, want %q %q %q", e, tt.want, tt.status, tt.order)
			}
			if (e.Note != "") != (tt.want == Unknown || tt.want == codeMissing || tt.want == codeWrongUser) {
				t.Errorf("unexpected note %q", e.Note)
			}
			if got := h.Events(); len(got) != 1 || got[0] != e {
				t.Errorf("got events %+v, want %+v", got, e)
			}
		})
	}
}
