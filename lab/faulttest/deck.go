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
	// overhead is the approximate time of a card beyond its length: processes restart.
	overhead   = 100 * time.Millisecond
	endTimeout = 90 * time.Second // for the end of a fault
)

// PlannedFault is one card of a deck: a fault, or several that overlap.
type PlannedFault struct {
	After   time.Duration // pause before it
	Faults  []Fault       // at least one
	Stagger time.Duration // between their starts
	Lasts   time.Duration // of the first fault; 0 means [Fault.Lasts]
	Seed    uint64        // of all other choices
}

// part is one fault of a card.
type part struct {
	fault     Fault
	at, lasts time.Duration // start since the card began, and duration
	choices   *rand.Rand
}

// parts returns the faults with their times, the same on each call.
func (c PlannedFault) parts() []part {
	all := make([]part, len(c.Faults))
	for i, f := range c.Faults {
		choices := rand.New(rand.NewPCG(c.Seed, uint64(i))) //nolint:gosec // no secret
		lasts := f.Lasts(choices)
		if i == 0 && c.Lasts > 0 {
			lasts = c.Lasts
		}
		all[i] = part{f, time.Duration(i) * c.Stagger, lasts, choices}
	}
	return all
}

// length returns the approximate duration of the card.
func (c PlannedFault) length() time.Duration {
	var longest time.Duration
	for _, p := range c.parts() {
		longest = max(longest, p.at+p.lasts)
	}
	return c.After + longest + overhead
}

// LosesData reports whether Redis may lose acknowledged writes.
func (c PlannedFault) LosesData() bool {
	return slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.LosesData })
}

// String describes the card: its pause, its faults and their durations.
func (c PlannedFault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "after %.1fs", c.After.Seconds())
	for i, p := range c.parts() {
		if i > 0 {
			fmt.Fprintf(&b, ", %.1fs later", c.Stagger.Seconds())
		}
		b.WriteString(" " + p.fault.Name)
		if p.lasts > 0 {
			fmt.Fprintf(&b, " for %.1fs", p.lasts.Seconds())
		}
	}
	return b.String()
}

// Plan shuffles all single faults into cards for about d: each kind occurs before any
// repeats. In the second half every other card is a pair. The result depends only on r and d.
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

// stack draws each kind once in random order, then starts again.
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

// FixedSix returns the cards that find the most mistakes, for a run of half a minute.
func FixedSix() []PlannedFault {
	const pause = 1300 * time.Millisecond
	return []PlannedFault{
		{After: 2 * time.Second, Faults: []Fault{CutRedisReplies(allServers)}, Lasts: 2 * time.Second, Seed: 1},
		{After: pause, Faults: []Fault{KillBoth()}, Lasts: 500 * time.Millisecond, Seed: 2},
		{After: pause, Faults: []Fault{RedisWipe()}, Seed: 3},
		{After: pause, Faults: []Fault{PauseServer(Nth(0))}, Lasts: 5500 * time.Millisecond, Seed: 4},
		{After: pause, Faults: []Fault{KillPG()}, Lasts: 500 * time.Millisecond, Seed: 5},
		{After: pause, Faults: []Fault{slowPGTooLate(Nth(1)), RedisPowerCut()}, Stagger: 800 * time.Millisecond, Lasts: 9 * time.Second, Seed: 6},
	}
}

// Play plays cards one after the other and returns after the last one. note receives every
// start and end with the time since Play began, one call at a time. If ctx ends, Play ends
// the active faults and returns its error.
func (w *World) Play(ctx context.Context, cards []PlannedFault, note func(at time.Duration, what string)) error {
	begin := time.Now()
	var mu sync.Mutex
	record := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		note(time.Since(begin), what)
	}
	for _, card := range cards {
		if err := clock.Sleep(ctx, card.After); err != nil {
			return err
		}
		if err := w.playCard(ctx, card, record); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (w *World) playCard(ctx context.Context, card PlannedFault, record func(string)) error {
	parts := card.parts()
	failed := make([]error, len(parts))
	var all sync.WaitGroup
	for i, p := range parts {
		all.Go(func() {
			if err := w.playPart(ctx, p, record); err != nil {
				failed[i] = fmt.Errorf("%s: %w", p.fault.Name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (w *World) playPart(ctx context.Context, p part, record func(string)) error {
	if clock.Sleep(ctx, p.at) != nil {
		return nil // Play returns the reason
	}
	// A fault that has begun is ended even if ctx has ended.
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.lasts+endTimeout)
	defer cancel()
	record(p.fault.Name + begins)
	active, err := w.begin(lasting, p.fault, p.choices)
	if errors.Is(err, ErrNothing) {
		record(p.fault.Name + ": " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	_ = clock.Sleep(ctx, p.lasts) // shorter if ctx ends
	if err := w.finish(lasting, active); err != nil {
		return err
	}
	record(p.fault.Name + isOver)
	return nil
}
