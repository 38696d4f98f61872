package seeder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

func TestUsersAreDeterministic(t *testing.T) {
	long := slices.Collect(GenerateUsers(3000, 42))
	if d := cmp.Diff(long, slices.Collect(GenerateUsers(3000, 42))); d != "" {
		t.Errorf("the same seed differs:\n%s", d)
	}
	if d := cmp.Diff(long[:1000], slices.Collect(GenerateUsers(1000, 42))); d != "" {
		t.Errorf("a smaller number yields no prefix:\n%s", d)
	}
	if cmp.Equal(long[:20], slices.Collect(GenerateUsers(20, 43))) {
		t.Error("another seed yields the same users")
	}
	ids := map[string]bool{}
	for i, d := range long {
		want := account.Customer
		switch i {
		case 0:
			want = account.Admin
		case 1:
			want = account.Merchant
		}
		if d.Role != want {
			t.Errorf("user %d is %s, want %s", i, d.Role, want)
		}
		if ids[d.ExternalID] || d.ExternalID == "" {
			t.Errorf("user %d: external id %q", i, d.ExternalID)
		}
		ids[d.ExternalID] = true
		if d.Nickname != text.Line(d.Nickname) || text.Blank(d.Nickname) || text.Len(d.Nickname) > account.MaxNickname ||
			text.Len(d.City) > account.MaxCity || text.Len(d.Bio) > account.MaxBio {
			t.Errorf("user %d exceeds a bound: %+v", i, d)
		}
	}
}

// fakeAccounts numbers users from 101. Tokens contain these numbers.
type fakeAccounts struct {
	users           []account.Draft
	failAt, issueAt int // the call that fails, from 1
	calls, issues   int
}

func (f *fakeAccounts) BulkInsert(_ context.Context, drafts []account.Draft, progress func(int)) ([]int64, error) {
	if f.calls++; f.calls == f.failAt {
		return nil, errStore
	}
	ids := make([]int64, len(drafts))
	for i := range drafts {
		ids[i] = int64(101 + len(f.users) + i)
	}
	f.users = append(f.users, slices.Clone(drafts)...)
	progress(len(drafts))
	return ids, nil
}

func (f *fakeAccounts) CreateSessions(_ context.Context, users []int64) ([]string, error) {
	if f.issues++; f.issues == f.issueAt {
		return nil, errStore
	}
	tokens := make([]string, len(users))
	for i, u := range users {
		tokens[i] = fmt.Sprintf("token-%d", u)
	}
	return tokens, nil
}

func TestSeedSetsOwnerAndCreatesSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.tsv")
	sink, accounts := &fakeShops{}, &fakeAccounts{}
	plan := Plan{Users: 10_003, Shops: 5, Seed: 3, Tokens: path}
	var out strings.Builder
	if err := Seed(t.Context(), Services{Shops: sink, Accounts: accounts}, plan, &out); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(slices.Collect(GenerateUsers(10_003, 3)), accounts.users); d != "" {
		t.Errorf("users (-want +got)\n%s", d)
	}
	if accounts.calls != 2 {
		t.Errorf("%d transactions of users, want 2", accounts.calls)
	}
	for _, d := range sink.calls[0] {
		if d.OwnerID != 102 {
			t.Errorf("%s belongs to %d, want the merchant, 102", d.ExternalID, d.OwnerID)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != plan.Users {
		t.Fatalf("%d lines for %d users", len(lines), plan.Users)
	}
	for i, role := range []string{"ADMIN", "MERCHANT", "CUSTOMER"} {
		n := int64(101 + i)
		want := fmt.Sprintf("%s\t%s\ttoken-%d", scalar.ID{Type: "User", N: n}, role, n)
		if lines[i] != want {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v; want 0600", info.Mode(), err)
	}
	if !strings.Contains(out.String(), "users: 10003 of 10003 in ") {
		t.Errorf("output %q", out.String())
	}
	if strings.Contains(out.String(), "token-") {
		t.Error("the output contains a token")
	}
}

func TestFailedSeedLeavesNoTokens(t *testing.T) {
	tests := []struct {
		name     string
		accounts *fakeAccounts
		want     string
	}{
		{"users fail", &fakeAccounts{failAt: 2}, "seed users 10000 to 10001 of 10001"},
		{"sessions fail", &fakeAccounts{issueAt: 2}, "sign in users 10000 to 10001 of 10001"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, sink := t.TempDir(), &fakeShops{}
			err := Seed(t.Context(), Services{Shops: sink, Accounts: tt.accounts}, Plan{Users: 10_001, Shops: 1, Tokens: filepath.Join(dir, "t")}, io.Discard)
			if !errors.Is(err, errStore) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v", err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if len(sink.calls) > 0 {
				t.Error("shops are stored without their owner")
			}
		})
	}
	accounts := &fakeAccounts{}
	err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: accounts}, Plan{Users: 1, Tokens: filepath.Join(t.TempDir(), "none", "t")}, io.Discard)
	if err == nil || accounts.calls > 0 {
		t.Errorf("missing directory: got %v, %d calls", err, accounts.calls)
	}
}

func TestTokensReplaceOnlyRegularFiles(t *testing.T) {
	seed := func(path string) error {
		return Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}}, Plan{Users: 1, Seed: 3, Tokens: path}, io.Discard)
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old\n"), 0o600), os.Symlink(file, link), seed(link)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "ADMIN") || strings.Contains(string(b), "old") {
		t.Errorf("target of the link: %q, %v", b, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v now, %v", info.Mode(), err)
	}
	// Like --tokens /dev/stdout: a path that is no regular file is written in place.
	if err := seed(os.DevNull); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is a file now", os.DevNull)
	}
	if err := seed(dir); err == nil {
		t.Error("a directory is accepted")
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
