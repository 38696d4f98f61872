package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	meanGap = 1800 * time.Millisecond // between cards
	minGap  = 200 * time.Millisecond
	maxGap  = 8 * time.Second
	// overhead is about what a card takes beyond its length: processes start again.
	overhead    = 100 * time.Millisecond
	endPatience = 90 * time.Second // of the end of a fault
)

// A PlannedFault is what happens next to a world.
type PlannedFault struct {
	After  time.Duration // pause before it
	Faults []Fault       // one, or several at once
	Apart  time.Duration // between their beginnings
	Lasts  time.Duration // of the first of them; 0 for as long as it says itself
	Seed   uint64        // of all choices that are left
}

// A part is one fault of a card.
type part struct {
	fault     Fault
	at, lasts time.Duration // since the card began, and from then on
	choices   *rand.Rand
}

// parts says when which of the faults happen: the same each time.
func (c PlannedFault) parts() []part {
	all := make([]part, len(c.Faults))
	for i, f := range c.Faults {
		choices := rand.New(rand.NewPCG(c.Seed, uint64(i))) //nolint:gosec // no secret
		lasts := f.Lasts(choices)
		if i == 0 && c.Lasts > 0 {
			lasts = c.Lasts
		}
		all[i] = part{f, time.Duration(i) * c.Apart, lasts, choices}
	}
	return all
}

// length is how long the card takes, about.
func (c PlannedFault) length() time.Duration {
	var longest time.Duration
	for _, p := range c.parts() {
		longest = max(longest, p.at+p.lasts)
	}
	return c.After + longest + overhead
}

// Forgets says that Redis may lose what it was told.
func (c PlannedFault) Forgets() bool {
	return slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.Forgets })
}

// String is the card in words: its pause, its faults and how long each lasts.
func (c PlannedFault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "after %.1fs", c.After.Seconds())
	for i, p := range c.parts() {
		if i > 0 {
			fmt.Fprintf(&b, ", %.1fs later", c.Apart.Seconds())
		}
		b.WriteString(" " + p.fault.Name)
		if p.lasts > 0 {
			fmt.Fprintf(&b, " for %.1fs", p.lasts.Seconds())
		}
	}
	return b.String()
}

// Plan shuffles all single faults into cards for about d, so that each kind occurs
// before any repeats; in the second half every other card is a pair. What is drawn
// depends on r and d alone.
func Plan(r *rand.Rand, d time.Duration) []PlannedFault {
	singles := stack(r, Faults(), func(f Fault) PlannedFault { return PlannedFault{Faults: []Fault{f}, Seed: r.Uint64()} })
	pairs := stack(r, Pairs(), func(p Pair) PlannedFault { return p.Make(r) })
	var cards []PlannedFault
	var passed time.Duration
	for pair := false; ; {
		draw := singles
		if pair = !pair && passed > d/2; pair {
			draw = pairs
		}
		card := draw()
		card.After = min(max(time.Duration(r.ExpFloat64()*float64(meanGap)), minGap), maxGap)
		if passed += card.length(); passed > d && len(cards) > 0 {
			return cards
		}
		cards = append(cards, card)
	}
}

// stack draws each of some kinds once, in any order, and then begins anew.
func stack[T any](r *rand.Rand, kinds []T, card func(T) PlannedFault) (draw func() PlannedFault) {
	var order []int
	return func() PlannedFault {
		if len(order) == 0 {
			order = r.Perm(len(kinds))
		}
		next := kinds[order[0]]
		order = order[1:]
		return card(next)
	}
}

// FixedSix are the cards of a short run, of half a minute: those that find the most.
func FixedSix() []PlannedFault {
	const pause = 1300 * time.Millisecond
	return []PlannedFault{
		{After: 2 * time.Second, Faults: []Fault{CutRedisReplies(everyone)}, Lasts: 2 * time.Second, Seed: 1},
		{After: pause, Faults: []Fault{KillBoth()}, Lasts: 500 * time.Millisecond, Seed: 2},
		{After: pause, Faults: []Fault{RedisWipe()}, Seed: 3},
		{After: pause, Faults: []Fault{PauseServer(Nth(0))}, Lasts: 5500 * time.Millisecond, Seed: 4},
		{After: pause, Faults: []Fault{KillPG()}, Lasts: 500 * time.Millisecond, Seed: 5},
		{After: pause, Faults: []Fault{late8(Nth(1)), RedisPowerCut()}, Apart: 800 * time.Millisecond, Lasts: 9 * time.Second, Seed: 6},
	}
}

// Play plays cards, one after the other, and returns when the last one is over. note
// hears of every begin and end, since when Play began; not of two at once. When ctx
// ends, faults under way are ended, and its error is returned.
func (w *World) Play(ctx context.Context, cards []PlannedFault, note func(at time.Duration, what string)) error {
	begin := time.Now()
	var one sync.Mutex
	say := func(what string) {
		one.Lock()
		defer one.Unlock()
		note(time.Since(begin), what)
	}
	for _, card := range cards {
		if err := clock.Sleep(ctx, card.After); err != nil {
			return err
		}
		if err := w.playCard(ctx, card, say); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (w *World) playCard(ctx context.Context, card PlannedFault, say func(string)) error {
	parts := card.parts()
	failed := make([]error, len(parts))
	var all sync.WaitGroup
	for i, p := range parts {
		all.Go(func() {
			if err := w.playPart(ctx, p, say); err != nil {
				failed[i] = fmt.Errorf("%s: %w", p.fault.Name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (w *World) playPart(ctx context.Context, p part, say func(string)) error {
	if clock.Sleep(ctx, p.at) != nil {
		return nil // Play returns why
	}
	// What has begun is ended, also when ctx has.
	sure, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.lasts+endPatience)
	defer cancel()
	say(p.fault.Name + begins)
	under, err := w.begin(sure, p.fault, p.choices)
	if errors.Is(err, ErrNothing) {
		say(p.fault.Name + ": " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	_ = clock.Sleep(ctx, p.lasts) // it ends early when ctx does
	if err := w.finish(sure, under); err != nil {
		return err
	}
	say(p.fault.Name + isOver)
	return nil
}
