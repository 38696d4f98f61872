package app_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// The live feed is on another server.
func TestUnfollowReachesFeedsWhileRedisRefusesWrites(t *testing.T) {
	eachRefusal(t, []string{"cache"}, func(t *testing.T, state testkit.Refusal, layout string) {
		r := newRefusing(t, state, layout, 4)
		reader, ann, bob, last := r.market.customers[0], r.market.customers[1], r.market.customers[2], r.market.customers[3]
		for _, author := range []person{ann, bob, last} {
			r.a.As(reader.token).Must(t, followUser, map[string]any{"id": author.id}, nil)
		}
		c := dial(t, r.b, reader.token)
		c.acknowledged(t)
		c.follow(t, `subscription { feedUpdates { __typename ... on FeedNoteAdded { note { title } } } }`, nil)
		title := func() string { // of the next event; "" if it has no note
			m, closed := c.read(t)
			var payload struct {
				Data struct {
					FeedUpdates struct{ Note struct{ Title string } }
				}
			}
			if err := json.Unmarshal(m.Payload, &payload); err != nil || closed != 0 || m.Type != "next" {
				t.Fatalf("closed %d, %v: %s %s", closed, err, m.Type, m.Payload)
			}
			return payload.Data.FeedUpdates.Note.Title
		}
		for title() != "" { // the first event without a note is FeedReady
		}
		round := 0
		delivers := func(author person) (is bool) {
			round++
			one, end := fmt.Sprint("one ", round), fmt.Sprint("end ", round)
			r.market.note(t, r.a.As(author.token), one)
			r.market.note(t, r.a.As(last.token), end)
			for got := title(); got != end; got = title() {
				is = is || got == one
			}
			return is
		}
		left := func(author person, when string) {
			t.Helper()
			if !delivers(author) {
				t.Errorf("%s: the author is not followed", when)
			}
			if code := codeOf(t, r.a.As(reader.token).Do(t, unfollow, map[string]any{"id": author.id}, nil)); code != "" {
				t.Fatalf("%s: unfollow: got %s", when, code)
			}
			if took := until(t, func() bool { return !delivers(author) }); took > 2*slow {
				t.Errorf("%s: visible after %v", when, took)
			}
			for began := time.Now(); time.Since(began) < slow/2; {
				if delivers(author) {
					t.Errorf("%s: the author is followed again", when)
				}
			}
		}
		r.begin(t)
		left(ann, "at once")
		left(bob, "later")
		r.end(t)
	})
}
