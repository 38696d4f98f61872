package feedsim

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sized(users int) Options {
	o := Default()
	o.Users = users
	return o
}

// near fails the test unless got is within a fraction of want.
func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > part*math.Abs(want) {
		t.Errorf("%s: got %v, want %v within %g %%", what, got, want, 100*part)
	}
}

func TestFollowersAndNotesAddUp(t *testing.T) {
	for _, users := range []int{1000, 20_000, 1_000_000, 100_000_000} {
		o := sized(users)
		accounts, follows, notes, last := 0.0, 0.0, 0.0, math.Inf(1)
		for _, b := range o.bands() {
			accounts += b.accounts
			follows += b.accounts * b.followers
			notes += b.accounts * b.posts
			if b.followers > last || b.followers > o.Largest*float64(users)*1.000001 {
				t.Fatalf("%d users: got %v followers after %v, want descending numbers below the maximum", users, b.followers, last)
			}
			last = b.followers
		}
		near(t, "accounts", accounts, float64(users), 0)
		near(t, "follows", follows, o.Follows*float64(users), 1e-9)
		near(t, "notes a day", notes, o.Posts*float64(users), 1e-9)
	}
}

func TestFollowersAreAPowerLaw(t *testing.T) {
	for _, exponent := range []float64{1.8, 2.2, 3} {
		o := sized(100_000_000)
		o.Exponent = exponent
		atLeast := func(followers float64) (accounts float64) {
			for _, b := range o.bands() {
				if b.followers >= followers {
					accounts += b.accounts
				}
			}
			return accounts
		}
		near(t, "accounts with 1000 or more followers, divided by those with 10 000 or more", atLeast(1000)/atLeast(10_000), math.Pow(10, exponent-1), 0.02)
	}
}

// Bands only save time.
func TestBandsCostTheSameAsSingleRanks(t *testing.T) {
	o := sized(200_000)
	var single []band
	for r := range o.Users {
		single = append(single, band{1, account{followers: math.Pow(float64(r+1), -1/(o.Exponent-1))}})
	}
	// The factor is found from the top: accounts with the maximum first, then the rest in
	// proportion.
	maxFollowers, left, sum := o.Largest*float64(o.Users), o.Follows*float64(o.Users), 0.0
	for _, b := range single {
		sum += b.followers
	}
	for i := range single {
		b := &single[i]
		share := b.followers
		b.followers = min(maxFollowers, left*share/sum)
		left, sum = left-b.followers, sum-share
	}
	posts := 0.0
	for i := range single {
		single[i].posts = math.Pow(single[i].followers, o.PostPower)
		posts += single[i].posts
	}
	for i := range single {
		single[i].posts *= o.Posts * float64(o.Users) / posts
	}
	for _, p := range []Policy{PushAll(), Merge(1e3), Merge(1e4), PerPair()} {
		got, want := o.cost(o.bands(), p), o.cost(single, p)
		near(t, p.Name+", writes", got.Writes, want.Writes, 1e-3)
		near(t, p.Name+", reads a page", got.ReadsPerPage, want.ReadsPerPage, 1e-3)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		ok     bool
	}{
		{"default", func(*Options) {}, true},
		{"equal writers", func(o *Options) { o.PostPower = 0 }, true},
		{"too few users", func(o *Options) { o.Users = 999 }, false},
		{"exponent NaN", func(o *Options) { o.Exponent = math.NaN() }, false},
		{"exponent too small", func(o *Options) { o.Exponent = 1 }, false},
		{"too many follows", func(o *Options) { o.Users, o.Follows = 1000, 200 }, false},
		{"no notes", func(o *Options) { o.Posts = 0 }, false},
		{"shares below 1", func(o *Options) { o.Readers = o.Readers[1:] }, false},
		{"empty class", func(o *Options) { o.Readers = append(o.Readers, Readers{}) }, false},
		{"no readers", func(o *Options) { o.Readers = []Readers{{1, 0}} }, false},
		{"no pushes", func(o *Options) { o.PushRate = 0 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Default()
			tt.change(&o)
			if err := o.Check(); (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestParseReaders(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []Readers // nil means an error
	}{
		{"2:100,98:0.5", []Readers{{0.02, 100}, {0.98, 0.5}}},
		{"25:1, 75:0", []Readers{{0.25, 1}, {0.75, 0}}},
		{"", nil},
		{"2", nil},
		{"2:", nil},
		{"2:100,", nil},
		{"a:1", nil},
	} {
		got, err := ParseReaders(tt.text)
		if d := cmp.Diff(tt.want, got); d != "" || (err != nil) != (tt.want == nil) {
			t.Errorf("%q: %v\n%s", tt.text, err, d)
		}
	}
	got, err := ParseReaders(FormatReaders(Default().Readers))
	if d := cmp.Diff(Default().Readers, got); d != "" || err != nil {
		t.Errorf("the default: %v\n%s", err, d)
	}
}
