// Package feedsim computes what a feed of followed authors costs by the way it is made:
// pushed to inboxes when a note is published, pulled from outboxes when a page is read, or
// both. It works with numbers instead of rows, so a hundred million users take milliseconds.
//
// # The model
//
// N users follow k others each, on average. Accounts stand in the order of their followers;
// the one of rank r has
//
//	f(r) = min(m·N, C·r^(-1/(b-1)))
//
// of them: b is the exponent of the power law (the share of accounts with exactly f followers
// falls as f^-b, with f or more as f^(1-b)), m is the largest part of all users that follow
// one account, and C makes the sum of all f(r) equal to k·N. Who is followed much also writes
// much: an account publishes
//
//	p(r) = P·N·f(r)^h / Σ f^h
//
// notes a day, P on average; with h = 0 everybody writes the same. Readers come in classes: a
// part q(c) of the users reads v(c) pages of the feed a day. Each author's followers have the
// classes that all users have. A class is active if its readers come once in 14 days or more.
//
// A policy says of each pair of an author and a class of readers whether notes are pushed.
// With sums over all ranks, and over the classes that are pushed to and those that are not:
//
//	inbox writes a day  = Σ f(r)·p(r)·q(c)    pushed
//	outbox reads a day  = Σ f(r)·q(c)·v(c)    not pushed
//	inbox reads a day   = N·Σ q(c)·v(c)       classes that anybody is pushed to
//	reads a page        = (outbox reads + inbox reads) / (N·Σ q(c)·v(c))
//	memory of inboxes   = N·Σ q(c)·500·20.6 B classes that anybody is pushed to
//	longest fan-out     = largest f(r)·Σ q(c) pushed / pushes a second
//	cost                = inbox writes + inbox reads + outbox reads
//
// A write and a read cost 1. All outboxes that are not pushed are read for each page, also
// those without a new note, which is the most that a merge can cost. Who has no inbox pulls
// from everybody whom he follows.
//
// The first ranks are summed one by one, the others in bands that are 0.2 % wide, by the rank
// in the middle of each.
//
// The rule for each pair is that of A. Silberstein, J. Terrace, B. F. Cooper and
// R. Ramakrishnan, "Feeding Frenzy: Selectively Materializing Users' Event Feeds", SIGMOD 2010.
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
	activeDays = 14   // an active reader comes once in so many days
	inboxSize  = 500  // entries of an inbox
	entryBytes = 20.6 // of a sorted set of 500 in Redis' compact form, measured on Redis 7.0
	singly     = 1000 // ranks that are summed one by one
	bandWidth  = 0.002
)

// Readers are a class of users that read alike.
type Readers struct {
	Share float64 // part of all users
	Pages float64 // of the feed that each of them reads a day
}

func (r Readers) active() bool { return r.Pages*activeDays >= 1 }

// Options describe the users. [Default] has values for all of them.
type Options struct {
	Users     int
	Exponent  float64   // of the power law, above 1
	Follows   float64   // a user, on average
	Largest   float64   // part of all users that follows the largest account, at most
	Posts     float64   // notes a user and day, on average
	PostPower float64   // notes of an account grow with its followers to this power
	Readers   []Readers // shares add up to 1
	PushRate  float64   // inbox writes a second that one fan-out makes
}

// Default is a hundred million users, of whom two in five are active. Nobody has measured them
// for Tandian: they are assumptions, which is why all of them can be changed.
func Default() Options {
	return Options{
		Users: 100_000_000, Exponent: 2.2, Follows: 80, Largest: 0.3, Posts: 0.2, PostPower: 0.5,
		Readers:  []Readers{{0.02, 100}, {0.08, 30}, {0.3, 3.5}, {0.6, 0.01}},
		PushRate: 104_000,
	}
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	shares, pages := 0.0, 0.0
	for _, r := range o.Readers {
		if !(r.Share > 0 && r.Share <= 1 && r.Pages >= 0 && r.Pages < 1e6) {
			return errors.New("a class of readers is more than 0 % of the users and reads 0 to a million pages a day")
		}
		shares, pages = shares+r.Share, pages+r.Share*r.Pages
	}
	within := func(x, low, high float64) bool { return x >= low && x <= high } // NaN is not
	switch {
	case o.Users < 1000 || o.Users > 1e10:
		return errors.New("users are 1000 to ten thousand million")
	case !within(o.Exponent, 1.1, 10):
		return errors.New("the exponent of the power law is 1.1 to 10")
	case !within(o.Largest, 1e-6, 1):
		return errors.New("the largest account is followed by a millionth to all of the users")
	case !within(o.Follows, 0.01, o.Largest*float64(o.Users)/2):
		return errors.New("follows a user are more than 0.01, and at most half of the followers of the largest account")
	case !within(o.Posts, 1e-6, 1e6), !within(o.PostPower, 0, 2):
		return errors.New("notes a day are a millionth to a million, their power is 0 to 2")
	case math.Abs(shares-1) > 1e-6 || pages == 0:
		return errors.New("the classes of readers make up all users, and some of them read")
	case !within(o.PushRate, 1, 1e12):
		return errors.New("a fan-out makes at least one push a second")
	}
	return nil
}

// ParseReaders reads classes as "2:100,98:0.5": percent of the users, a colon, pages a day.
func ParseReaders(text string) ([]Readers, error) {
	var list []Readers
	for class := range strings.SplitSeq(text, ",") {
		percent, pages, _ := strings.Cut(class, ":")
		share, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil {
			return nil, fmt.Errorf("a class of readers is PERCENT:PAGES, not %q", class)
		}
		each, err := strconv.ParseFloat(strings.TrimSpace(pages), 64)
		if err != nil {
			return nil, fmt.Errorf("a class of readers is PERCENT:PAGES, not %q", class)
		}
		list = append(list, Readers{Share: share / 100, Pages: each})
	}
	return list, nil
}

// FormatReaders writes classes as [ParseReaders] reads them.
func FormatReaders(list []Readers) string {
	classes := make([]string, len(list))
	for i, r := range list {
		classes[i] = fmt.Sprintf("%g:%g", 100*r.Share, r.Pages)
	}
	return strings.Join(classes, ",")
}

// An account is an author.
type account struct {
	followers float64
	posts     float64 // a day
}

// A band is accounts of neighbouring ranks, which are taken as alike.
type band struct {
	accounts float64
	account
}

// bands are all accounts, those with the most followers first.
func (o Options) bands() []band {
	n := float64(o.Users)
	var bands []band
	for first := 1.0; first <= n; {
		wide := 1.0
		if first > singly {
			wide = min(math.Floor(first*bandWidth)+1, n-first+1)
		}
		middle := first + (wide-1)/2
		bands = append(bands, band{accounts: wide, account: account{followers: math.Pow(middle, -1/(o.Exponent-1))}})
		first += wide
	}
	// So far followers are in proportion. The factor is found by halving: the sum grows with it.
	most := o.Largest * n
	low, high := 0.0, most/bands[len(bands)-1].followers
	for range 100 {
		factor, sum := (low+high)/2, 0.0
		for _, b := range bands {
			sum += b.accounts * min(most, factor*b.followers)
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
		b.followers = min(most, high*b.followers)
		b.posts = math.Pow(b.followers, o.PostPower)
		sum += b.accounts * b.posts
	}
	for i := range bands {
		bands[i].posts *= o.Posts * n / sum
	}
	return bands
}

// notes are published a second.
func (o Options) notes() float64 { return float64(o.Users) * o.Posts / daySeconds }

// pages are read a second.
func (o Options) pages() float64 {
	each := 0.0
	for _, r := range o.Readers {
		each += r.Share * r.Pages
	}
	return float64(o.Users) * each / daySeconds
}
