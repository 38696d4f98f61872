// Package feedsim computes the cost of a feed of followed authors for different policies. A
// note can be pushed to inboxes at publication, pulled from outboxes when a page is read, or
// both. The model works with numbers instead of rows, so a hundred million users take
// milliseconds.
//
// # The model
//
// N users follow k others each, on average. Accounts are ordered by followers. The account of
// rank r has
//
//	f(r) = min(m·N, C·r^(-1/(b-1)))
//
// followers. b is the exponent of the power law: the share of accounts with exactly f
// followers falls as f^-b, with f or more as f^(1-b). m is the largest share of all users
// that follow one account, and C makes the sum of all f(r) equal to k·N. Accounts with many
// followers also write more: an account publishes
//
//	p(r) = P·N·f(r)^h / Σ f^h
//
// notes a day, P on average; with h = 0 all accounts write the same. Readers come in classes:
// a share q(c) of the users reads v(c) pages of the feed a day. Each author's followers have
// the same classes as all users. A class is active if its readers come at least once in 14
// days.
//
// A policy decides for each pair of an author and a class of readers whether notes are
// pushed. With sums over all ranks, and over the classes that are pushed to and those that
// are not:
//
//	inbox writes a day  = Σ f(r)·p(r)·q(c)    pushed
//	outbox reads a day  = Σ f(r)·q(c)·v(c)    not pushed
//	inbox reads a day   = N·Σ q(c)·v(c)       classes with an inbox
//	reads a page        = (outbox reads + inbox reads) / (N·Σ q(c)·v(c))
//	memory of inboxes   = N·Σ q(c)·500·20.6 B classes with an inbox
//	longest fan-out     = largest f(r)·Σ q(c) pushed / pushes a second
//	cost                = inbox writes + inbox reads + outbox reads
//
// A write and a read cost 1. Each page reads all outboxes that are not pushed, also those
// without a new note, which is the maximum cost of a merge. A class has an inbox if any
// author is pushed to it. Readers without an inbox pull from all authors that they follow.
//
// The first ranks are summed one by one, the others in bands that are 0.2 % wide, by the rank
// in the middle of each.
//
// The rule for each pair is from A. Silberstein, J. Terrace, B. F. Cooper and R.
// Ramakrishnan, "Feeding Frenzy: Selectively Materializing Users' Event Feeds", SIGMOD 2010.
package feedsim

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	daySeconds = 24 * 60 * 60
	activeDays = 14   // an active reader comes at least once in this many days
	inboxSize  = 500  // entries of an inbox
	entryBytes = 20.6 // of a sorted set of 500 in the compact form of Redis, measured on Redis 7.0
	exactRanks = 1000 // ranks that are summed one by one
	bandWidth  = 0.002
)

// Readers is a class of users with the same reading habits.
type Readers struct {
	Share float64 // share of all users
	Pages float64 // feed pages per reader and day
}

func (r Readers) active() bool { return r.Pages*activeDays >= 1 }

// Options describes the users. [Default] has values for all fields.
type Options struct {
	Users     int
	Exponent  float64   // of the power law, above 1
	Follows   float64   // a user, on average
	Largest   float64   // maximum share of all users that follow the largest account
	Posts     float64   // notes per user and day, on average
	PostPower float64   // an account's notes grow with its followers to this power
	Readers   []Readers // shares add up to 1
	PushRate  float64   // inbox writes per second of one fan-out
}

// Default returns a hundred million users; two in five of them are active. The values are
// assumptions, not measurements of Tandian.
func Default() Options {
	return Options{
		Users: 100_000_000, Exponent: 2.2, Follows: 80, Largest: 0.3, Posts: 0.2, PostPower: 0.5,
		Readers:  []Readers{{0.02, 100}, {0.08, 30}, {0.3, 3.5}, {0.6, 0.01}},
		PushRate: 104_000,
	}
}

// Check returns an error that describes the first invalid option.
func (o Options) Check() error {
	shares, pages := 0.0, 0.0
	for _, r := range o.Readers {
		if !(r.Share > 0 && r.Share <= 1 && r.Pages >= 0 && r.Pages < 1e6) {
			return errors.New("invalid readers: a class must be more than 0 % of the users and read 0 to a million pages a day")
		}
		shares, pages = shares+r.Share, pages+r.Share*r.Pages
	}
	within := func(x, low, high float64) bool { return x >= low && x <= high } // NaN is not
	switch {
	case o.Users < 1000 || o.Users > 1e10:
		return errors.New("users must be 1000 to ten thousand million")
	case !within(o.Exponent, 1.1, 10):
		return errors.New("the exponent of the power law must be 1.1 to 10")
	case !within(o.Largest, 1e-6, 1):
		return errors.New("the largest account must have a millionth to all of the users as followers")
	case !within(o.Follows, 0.01, o.Largest*float64(o.Users)/2):
		return errors.New("follows per user must be 0.01 to half of the followers of the largest account")
	case !within(o.Posts, 1e-6, 1e6), !within(o.PostPower, 0, 2):
		return errors.New("notes per day must be a millionth to a million, and their power 0 to 2")
	case math.Abs(shares-1) > 1e-6 || pages == 0:
		return errors.New("invalid readers: the shares must add up to all users, and some of them must read")
	case !within(o.PushRate, 1, 1e12):
		return errors.New("the push rate must be at least one a second")
	}
	return nil
}

// ParseReaders parses classes such as "2:100,98:0.5": percent of the users, a colon, pages a
// day.
func ParseReaders(text string) ([]Readers, error) {
	var list []Readers
	for class := range strings.SplitSeq(text, ",") {
		percent, pages, _ := strings.Cut(class, ":")
		share, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil {
			return nil, fmt.Errorf("invalid class of readers %q: want PERCENT:PAGES", class)
		}
		each, err := strconv.ParseFloat(strings.TrimSpace(pages), 64)
		if err != nil {
			return nil, fmt.Errorf("invalid class of readers %q: want PERCENT:PAGES", class)
		}
		list = append(list, Readers{Share: share / 100, Pages: each})
	}
	return list, nil
}

// FormatReaders formats classes in the format of [ParseReaders].
func FormatReaders(list []Readers) string {
	classes := make([]string, len(list))
	for i, r := range list {
		classes[i] = fmt.Sprintf("%g:%g", 100*r.Share, r.Pages)
	}
	return strings.Join(classes, ",")
}

// account is an author.
type account struct {
	followers float64
	posts     float64 // per day
}

// band is a group of accounts with neighbouring ranks, which count as equal.
type band struct {
	accounts float64
	account
}

// bands returns all accounts, those with the most followers first.
func (o Options) bands() []band {
	n := float64(o.Users)
	var bands []band
	for first := 1.0; first <= n; {
		wide := 1.0
		if first > exactRanks {
			wide = min(math.Floor(first*bandWidth)+1, n-first+1)
		}
		middle := first + (wide-1)/2
		bands = append(bands, band{accounts: wide, account: account{followers: math.Pow(middle, -1/(o.Exponent-1))}})
		first += wide
	}
	// So far followers are proportional. Bisection finds the factor, because the sum grows
	// with it.
	maxFollowers := o.Largest * n
	low, high := 0.0, maxFollowers/bands[len(bands)-1].followers
	for range 100 {
		factor, sum := (low+high)/2, 0.0
		for _, b := range bands {
			sum += b.accounts * min(maxFollowers, factor*b.followers)
		}
		if sum < o.Follows*n {
			low = factor
		} else {
			high = factor
		}
	}
	sum := 0.0
	for i := range bands {
		b := &bands[i]
		b.followers = min(maxFollowers, high*b.followers)
		b.posts = math.Pow(b.followers, o.PostPower)
		sum += b.accounts * b.posts
	}
	for i := range bands {
		bands[i].posts *= o.Posts * n / sum
	}
	return bands
}

// notes returns the notes published per second.
func (o Options) notes() float64 { return float64(o.Users) * o.Posts / daySeconds }

// pages returns the pages read per second.
func (o Options) pages() float64 {
	each := 0.0
	for _, r := range o.Readers {
		each += r.Share * r.Pages
	}
	return float64(o.Users) * each / daySeconds
}
