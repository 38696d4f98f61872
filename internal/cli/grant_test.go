package cli_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const createShop = `mutation C($input: CreateShopInput!) { createShop(input: $input) { shop { id name } userErrors { code message field } } }`

// shopInput returns a valid createShop input with the given changes.
func shopInput(changes map[string]any) map[string]any {
	input := map[string]any{"name": "A new shop", "typeId": "U2hvcFR5cGU6MQ", "address": "1 Street", "location": map[string]any{"lat": 10.5, "lng": 20.5}}
	maps.Copy(input, changes)
	return input
}

func TestGrantAppliesToRunningServers(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	s := stack.Start(t)
	ann, id := s.Login(t, "13800001111")
	roleOf := func() string {
		var a meAnswer
		ann.Must(t, meQuery, nil, &a)
		return a.Me.Role
	}
	for _, step := range []struct{ role, want, createShop string }{
		{"ADMIN", "ADMIN", ""},
		{"customer", "CUSTOMER", "FORBIDDEN"},
		{"MERCHANT", "MERCHANT", ""},
	} {
		out, errs, exit := stack.Command(t, "grant", "+86 138 0000 1111", step.role)
		if exit != 0 || out != "138****1111 is now "+step.want+".\n" {
			t.Fatalf("grant: %d %q %s", exit, out, errs)
		}
		testkit.Eventually(t, 500*time.Millisecond, func() bool { return roleOf() == step.want }) // ten times the promised delay
		if c := code(t, ann.Do(t, createShop, map[string]any{"input": shopInput(nil)}, nil)); c != step.createShop {
			t.Errorf("as %s, createShop: %q", step.want, c)
		}
	}
	// The first administrator of a real installation has no account yet.
	out, errs, exit := stack.Command(t, "grant", "13800003333", "ADMIN")
	if exit != 0 || !strings.Contains(out, "138****3333 is now ADMIN. The account is new") {
		t.Errorf("grant: %d %q %s", exit, out, errs)
	}
	admin, other := s.Login(t, "13800003333")
	var a meAnswer
	if admin.Must(t, meQuery, nil, &a); a.Me.Role != "ADMIN" || other == id {
		t.Errorf("the first administrator is %+v", a.Me)
	}
	for name, args := range map[string][]string{
		"no arguments": {"grant"}, "no role": {"grant", "13800001111"}, "no phone": {"grant", "x", "ADMIN"}, "unknown role": {"grant", "13800001111", "KING"},
	} {
		if out, errs, exit := stack.Command(t, args...); exit != 2 || errs == "" || out != "" {
			t.Errorf("%s: %d %q %q", name, exit, out, errs)
		}
	}
}
