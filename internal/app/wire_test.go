package app_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// Numbers of browsers are exact up to 2^53, but an order number has up to 19 digits. So it is
// a string.
func TestOrderNumbersAreExactInBrowsers(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		ann := s.As(m.customers[0].token)
		var p placed
		ann.Must(t, orderVoucher, map[string]any{"v": m.ordinary(t, s, false)}, &p)
		if p.OrderVoucher.Order == nil {
			t.Fatalf("no order: %+v", p.OrderVoucher)
		}
		const n = math.MaxInt64 // 19 digits; a browser would round it to end in 808
		if _, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE orders SET id = $1 WHERE id = $2", int64(n), number(t, p.OrderVoucher.Order.ID)); err != nil {
			t.Fatal(err)
		}
		digits, id := strconv.FormatInt(n, 10), scalar.ID{Type: "Order", N: n}.String()
		for name, query := range map[string]string{
			"by its number": `query O($number: String!, $id: ID!) { found: orderByNumber(number: $number) { id number } node(id: $id) { __typename } }`,
			"by its id":     `query O($number: String!, $id: ID!) { found: order(id: $id) { id number } orderByNumber(number: $number) { __typename } }`,
		} {
			var data struct{ Found map[string]any }
			d := json.NewDecoder(bytes.NewReader([]byte(dataOf(t, ann, query, map[string]any{"number": digits, "id": id}))))
			d.UseNumber() // otherwise the test would round it
			if err := d.Decode(&data); err != nil {
				t.Fatal(err)
			}
			if data.Found["number"] != digits || data.Found["id"] != id { // a json.Number is no string
				t.Errorf("%s: got %#v, want the strings %q and %q", name, data.Found, id, digits)
			}
		}
	})
}

// Clients handle rejections by a code of the schema, not by the message.
func TestRejectionsHaveCodes(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	var schema struct {
		Codes   struct{ EnumValues []struct{ Name string } }
		Refusal struct {
			Fields []struct {
				Name string
				Type struct{ OfType *struct{ Name string } }
			}
		}
	}
	s.Must(t, `{ codes: __type(name: "ErrorCode") { enumValues { name } } refusal: __type(name: "UserError") { fields { name type { ofType { name } } } } }`, nil, &schema)
	for _, f := range schema.Refusal.Fields {
		if f.Name == "code" && (f.Type.OfType == nil || f.Type.OfType.Name != "ErrorCode") {
			t.Error("UserError.code is not a non-null ErrorCode")
		}
	}
	codes := map[string]bool{}
	for _, v := range schema.Codes.EnumValues {
		codes[v.Name] = true
	}
	var refused struct {
		SendLoginCode struct{ UserErrors []apptest.UserError }
	}
	s.Must(t, `mutation { sendLoginCode(phone: "12") { userErrors { code message } } }`, nil, &refused)
	if wrong := refused.SendLoginCode.UserErrors; len(wrong) != 1 || wrong[0].Code != "INVALID_PHONE" || !codes[wrong[0].Code] {
		t.Errorf("got %+v, want INVALID_PHONE, one of %d codes", wrong, len(codes))
	}
	for query, want := range map[string]string{
		`{ me `:                                 "GRAPHQL_PARSE_FAILED",
		`{ nothing }`:                           "GRAPHQL_VALIDATION_FAILED",
		`mutation { checkIn { pointsEarned } }`: "UNAUTHENTICATED",
		`{ shop(id: "no id") { id } }`:          "BAD_USER_INPUT",
	} {
		if got := code(t, s.Do(t, query, nil, nil)); got != want {
			t.Errorf("%s: got code %q, want %q", query, got, want)
		}
	}
}
