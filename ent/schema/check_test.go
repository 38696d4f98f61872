package schema

import (
	"fmt"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// The server uses these validators, the schema uses those of ent.
func TestValidatorsAgreeWithEnt(t *testing.T) {
	texts := []string{"", "a", "abc", "abcd", "火锅"}
	for name, v := range map[string]struct {
		ours func(string) error
		ent  ent.Field
	}{
		"MaxLen":   {MaxLen(3), field.String("x").MaxLen(3)},
		"NotEmpty": {NotEmpty, field.String("x").NotEmpty()},
		"All":      {All(NotEmpty, MaxLen(3)), field.String("x").NotEmpty().MaxLen(3)},
	} {
		for _, text := range texts {
			var want error
			for _, validate := range v.ent.Descriptor().Validators {
				if want == nil {
					want = validate.(func(string) error)(text)
				}
			}
			if got := v.ours(text); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of %q: got %v, want %v", name, text, got, want)
			}
		}
	}
	for name, v := range map[string]struct {
		ours func(int) error
		ent  ent.Field
	}{
		"NonNegative": {NonNegative[int], field.Int("x").NonNegative()},
		"Positive":    {Positive[int], field.Int("x").Positive()},
	} {
		for n := -2; n < 3; n++ {
			want := v.ent.Descriptor().Validators[0].(func(int) error)(n)
			if got := v.ours(n); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of %d: got %v, want %v", name, n, got, want)
			}
		}
	}
}
