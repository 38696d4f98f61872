package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func planOf(seed uint64, d time.Duration) []PlannedFault {
	return Plan(rand.New(rand.NewPCG(seed, 0)), d) //nolint:gosec // no secret
}

func TestPlanDependsOnSeed(t *testing.T) {
	one, again, other := fmt.Sprint(planOf(7, 2*time.Minute)), fmt.Sprint(planOf(7, 2*time.Minute)), fmt.Sprint(planOf(8, 2*time.Minute))
	if one != again {
		t.Errorf("got %s\nand %s\nfor the same seed", one, again)
	}
	if one == other {
		t.Error("got equal plans for two seeds")
	}
}

func TestPlanHasEachKindBeforeRepeats(t *testing.T) {
	kinds := len(Faults())
	for seed := range uint64(50) {
		singles := map[string]int{}
		pairs, gaps, passed := 0, time.Duration(0), time.Duration(0)
		cards := planOf(seed, 10*time.Minute)
		for i, card := range cards {
			gaps += card.After
			if len(card.Faults) > 1 {
				if pairs++; passed <= 5*time.Minute {
					t.Errorf("seed %d: card %d is a pair after %v, want pairs in the second half", seed, i, passed)
				}
			} else {
				name := card.Faults[0].Name
				singles[name]++
				if n := singles[name]; n > 1 {
					for _, f := range Faults() {
						if singles[f.Name] < n-1 {
							t.Errorf("seed %d: got %s %d times before %s", seed, name, n, f.Name)
						}
					}
				}
			}
			passed += card.length()
		}
		if len(singles) != kinds || pairs < len(Pairs()) {
			t.Errorf("seed %d: got %d of %d kinds, and %d pairs of %d kinds", seed, len(singles), kinds, pairs, len(Pairs()))
		}
		if mean := gaps / time.Duration(len(cards)); mean < time.Second || mean > 3*time.Second {
			t.Errorf("seed %d: got a mean gap of %v, want 1 s to 3 s", seed, mean)
		}
		if passed > 10*time.Minute || passed < 9*time.Minute {
			t.Errorf("seed %d: got a length of %v, want 9 to 10 minutes", seed, passed)
		}
	}
}

// A run takes two minutes by default.
func TestTwoMinutePlanHasMostFaults(t *testing.T) {
	for seed := range uint64(50) {
		kinds, pairs := map[string]bool{}, 0
		for _, card := range planOf(seed, 2*time.Minute) {
			for _, f := range card.Faults {
				kinds[f.Name] = true
			}
			if len(card.Faults) > 1 {
				pairs++
			}
		}
		if len(kinds) < len(Faults())-2 || pairs < 3 {
			t.Errorf("seed %d: got %d of %d kinds, %d pairs", seed, len(kinds), len(Faults()), pairs)
		}
	}
}

func TestFixedSixFaults(t *testing.T) {
	var names []string
	var takes time.Duration
	for _, card := range FixedSix() {
		takes += card.length()
		for _, f := range card.Faults {
			names = append(names, f.Name)
		}
	}
	for _, name := range []string{"redis-power-cut", "slow-pg", "kill-both", "cut-redis-replies", "redis-wipe", "kill-pg", "pause-server"} {
		if !slices.Contains(names, name) {
			t.Errorf("no %s", name)
		}
	}
	if n := len(FixedSix()); n != 6 || takes > 32*time.Second || takes < 25*time.Second {
		t.Errorf("got %d cards of %v, want 6 of 25 s to 32 s", n, takes)
	}
}

// fake is a fault that only records its start and its end.
func fake(name string, lasts time.Duration, events chan<- string) Fault {
	return Fault{
		Name: name, Lasts: func(*rand.Rand) time.Duration { return lasts },
		Begin: func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
			events <- name + "+"
			return func(context.Context) error { events <- name + "-"; return nil }, nil
		},
	}
}

func TestPlayEndsActiveFaults(t *testing.T) {
	events := make(chan string, 10)
	w := &World{active: map[*running]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	cards := []PlannedFault{
		{Faults: []Fault{fake("long", 200*time.Millisecond, events), fake("short", 0, events)}, Stagger: 20 * time.Millisecond},
		{Faults: []Fault{fake("cut off", time.Hour, events)}},
		{Faults: []Fault{fake("never", 0, events)}},
	}
	var notes []string
	err := w.Play(ctx, cards, func(_ time.Duration, what string) {
		if notes = append(notes, what); what == "cut off begins" {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
	})
	if err == nil {
		t.Error("got no error after the stop")
	}
	close(events)
	var order []string
	for name := range events {
		order = append(order, name)
	}
	if want := []string{"long+", "short+", "short-", "long-", "cut off+", "cut off-"}; !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
	if _, ok := w.Healthy(); !ok {
		t.Error("a fault is still active")
	}
	if len(notes) != 6 {
		t.Errorf("got notes %q, want 6", notes)
	}
}
