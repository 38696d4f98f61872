package cli_test

import (
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// check-phones --rewrite normalizes phones of earlier versions once. Its output masks all
// numbers.
func TestCheckPhonesNormalizesPhones(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		s.Login(t, "+447911123456")
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		db := stack.SQL(t)
		for _, statement := range []string{
			"INSERT INTO users (phone, nickname, role, gender, created_at, updated_at) VALUES ('+330612345678', 'french', 'CUSTOMER', 'UNSPECIFIED', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)",
			"INSERT INTO users (phone, nickname, role, gender, created_at, updated_at) VALUES ('+4407911123456', 'twice', 'CUSTOMER', 'UNSPECIFIED', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)",
		} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"spelling  +336****5678", "rewritten  +336****5678", "shared  +4479****3456"} {
			args := []string{"accounts", "check-phones"}
			if i > 0 {
				args = append(args, "--rewrite")
			}
			out, errs, exit := stack.Command(t, args...)
			if exit != 1 || !strings.Contains(out, " phones checked") || !strings.Contains(out, "shared") || !strings.Contains(out, want) || strings.Contains(out, "invalid") {
				t.Errorf("%v: %d %q %s", args, exit, out, errs)
			}
			if strings.Contains(out+errs, "7911123456") || strings.Contains(out+errs, "612345678") {
				t.Errorf("%q %q shows a phone", out, errs)
			}
		}
		wantNumbers(t, db, map[string]int{"count(*) FROM users WHERE phone = '+33612345678'": 1, "count(*) FROM users WHERE phone IN ('+447911123456', '+4407911123456')": 2})
		if _, _, exit := stack.Command(t, "accounts", "check-phones", "x"); exit != 2 {
			t.Errorf("extra argument: %d", exit)
		}
		var french int64
		if err := db.QueryRowContext(t.Context(), "SELECT id FROM users WHERE nickname = 'french'").Scan(&french); err != nil {
			t.Fatal(err)
		}
		if _, id := stack.Start(t).Login(t, "+33 (0)6 12 34 5678"); id != (scalar.ID{Type: "User", N: french}).String() {
			t.Errorf("user %s, want %d", id, french)
		}
	})
}
