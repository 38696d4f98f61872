package seeder

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/follow"
)

func TestFollowsAreDeterministic(t *testing.T) {
	long := slices.Collect(GenerateFollows(3000, 500, 42))
	if d := cmp.Diff(long, slices.Collect(GenerateFollows(3000, 500, 42))); d != "" {
		t.Errorf("the same seed differs:\n%s", d)
	}
	if d := cmp.Diff(long[:1000], slices.Collect(GenerateFollows(1000, 500, 42))); d != "" {
		t.Errorf("a smaller number yields no prefix:\n%s", d)
	}
	if cmp.Equal(long[:20], slices.Collect(GenerateFollows(20, 500, 43))) {
		t.Error("another seed yields the same follows")
	}
}

func TestFollowsAreDistinct(t *testing.T) {
	tests := []struct {
		name     string
		n, users int
	}{
		{"none", 0, 5},
		{"two users", 1, 2},
		{"some", 20_000, 3000},
		{"every pair", 60 * 59, 60},
		{"every pair of two", 2, 2},
		{"nearly every pair", 60*59 - 1, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen := map[Follow]bool{}
			for b := range GenerateFollows(tt.n, tt.users, 7) {
				if b.Follower == b.Followee || seen[b] || min(b.Follower, b.Followee) < 0 || max(b.Follower, b.Followee) >= tt.users {
					t.Fatalf("%+v, seen before: %v", b, seen[b])
				}
				seen[b] = true
			}
			if len(seen) != tt.n {
				t.Errorf("got %d follows, want %d", len(seen), tt.n)
			}
		})
	}
	for range GenerateFollows(100, 1, 7) {
		t.Fatal("a single user follows another")
	}
}

func TestFolloweesAreLimited(t *testing.T) {
	p := followPairs(6000, 1)
	full := make([]int32, follow.MaxFollowees)
	for i := range full {
		full[i] = int32(i + 500)
	}
	for follower := range 3000 {
		p.taken[follower] = full
	}
	for range 5000 {
		if follower, _ := p.next(); follower < 3000 {
			t.Fatalf("follower %d has too many followees", follower)
		}
	}
}

// The density of the numbers of followers falls with a power of about -2.2. The estimate
// is that of Clauset, Shalizi and Newman for whole numbers.
func TestFollowersFollowPowerLaw(t *testing.T) {
	const users, n, least = 50_000, 500_000, 20
	followers, followees := make([]int, users), make([]int, users)
	for b := range GenerateFollows(n, users, 7) {
		followers[b.Followee]++
		followees[b.Follower]++
	}
	some, logs := 0, 0.0
	for _, k := range followers {
		if k >= least {
			some++
			logs += math.Log(float64(k) / (least - 0.5))
		}
	}
	if exponent := 1 + float64(some)/logs; exponent < 2 || exponent > 2.4 {
		t.Errorf("got the exponent %.2f, want 2 to 2.4", exponent)
	}
	if highest := slices.Max(followers); highest < users/10 {
		t.Errorf("got at most %d followers", highest)
	}
	if highest, fewest := slices.Max(followees), slices.Min(followees); highest < 5*n/users || fewest > n/users {
		t.Errorf("got %d to %d followees", fewest, highest)
	}
}

// fakeFollows records the stored follows.
type fakeFollows struct {
	calls  [][]follow.Draft
	failAt int
	stored int // of each call; not new
}

func (f *fakeFollows) BulkInsert(_ context.Context, drafts []follow.Draft) (int, error) {
	if f.calls = append(f.calls, slices.Clone(drafts)); len(f.calls) == f.failAt {
		return 0, errStore
	}
	return len(drafts) - f.stored, nil
}

func TestSeedStoresFollows(t *testing.T) {
	follows := &fakeFollows{stored: 3}
	plan := Plan{Users: 700, Follows: 10_005, Seed: 3}
	var out strings.Builder
	if err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Follows: follows}, plan, &out); err != nil {
		t.Fatal(err)
	}
	if len(follows.calls) != 2 || len(follows.calls[0]) != 10_000 {
		t.Errorf("got %d transactions", len(follows.calls))
	}
	var want []follow.Draft
	for b := range GenerateFollows(10_005, 700, 3) {
		want = append(want, follow.Draft{Follower: int64(101 + b.Follower), Followee: int64(101 + b.Followee)})
	}
	if d := cmp.Diff(want, slices.Concat(follows.calls...)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if lines := out.String(); !strings.Contains(lines, "follows: 10005 of 10005 in ") || !strings.HasSuffix(lines, "\n9999 follows added, 6 unchanged\n") {
		t.Errorf("output %q", lines)
	}

	follows = &fakeFollows{failAt: 2}
	err := Seed(t.Context(), Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Follows: follows}, plan, io.Discard)
	if !errors.Is(err, errStore) || !strings.Contains(err.Error(), "seed follows 10000 to 10005 of 10005") {
		t.Errorf("error %v", err)
	}
}
