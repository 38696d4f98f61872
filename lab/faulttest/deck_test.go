package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func dealt(seed uint64, d time.Duration) []PlannedFault {
	return Plan(rand.New(rand.NewPCG(seed, 0)), d) //nolint:gosec // no secret
}

func TestADeckIsThatOfItsSeed(t *testing.T) {
	one, again, other := fmt.Sprint(dealt(7, 2*time.Minute)), fmt.Sprint(dealt(7, 2*time.Minute)), fmt.Sprint(dealt(8, 2*time.Minute))
	if one != again {
		t.Errorf("the same seed deals\n%s\nand\n%s", one, again)
	}
	if one == other {
		t.Error("two seeds deal the same")
	}
}

func TestADeckHasEachKindBeforeAnyRepeats(t *testing.T) {
	kinds := len(Faults())
	for seed := range uint64(50) {
		singles := map[string]int{}
		pairs, gaps, passed := 0, time.Duration(0), time.Duration(0)
		cards := dealt(seed, 10*time.Minute)
		for i, card := range cards {
			gaps += card.After
			if len(card.Faults) > 1 {
				if pairs++; passed <= 5*time.Minute {
					t.Errorf("seed %d: card %d is a pair, after %v", seed, i, passed)
				}
			} else {
				name := card.Faults[0].Name
				singles[name]++
				if n := singles[name]; n > 1 {
					for _, f := range Faults() {
						if singles[f.Name] < n-1 {
							t.Errorf("seed %d: %s comes %d times before %s", seed, name, n, f.Name)
						}
					}
				}
			}
			passed += card.length()
		}
		if len(singles) != kinds || pairs < len(Pairs()) {
			t.Errorf("seed %d: %d of %d kinds, and %d pairs of %d kinds", seed, len(singles), kinds, pairs, len(Pairs()))
		}
		if mean := gaps / time.Duration(len(cards)); mean < time.Second || mean > 3*time.Second {
			t.Errorf("seed %d: the mean gap is %v", seed, mean)
		}
		if passed > 10*time.Minute || passed < 9*time.Minute {
			t.Errorf("seed %d: the deck takes %v", seed, passed)
		}
	}
}

// Two minutes are what one run takes: most of what there is belongs into them.
func TestADeckOfTwoMinutesHasMostOfAll(t *testing.T) {
	for seed := range uint64(50) {
		kinds, pairs := map[string]bool{}, 0
		for _, card := range dealt(seed, 2*time.Minute) {
			for _, f := range card.Faults {
				kinds[f.Name] = true
			}
			if len(card.Faults) > 1 {
				pairs++
			}
		}
		if len(kinds) < len(Faults())-2 || pairs < 3 {
			t.Errorf("seed %d: %d of %d kinds, %d pairs", seed, len(kinds), len(Faults()), pairs)
		}
	}
}

func TestTheSixOfAShortRun(t *testing.T) {
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
			t.Errorf("%s is missing", name)
		}
	}
	if n := len(FixedSix()); n != 6 || takes > 32*time.Second || takes < 25*time.Second {
		t.Errorf("there are %d cards, which take %v", n, takes)
	}
}

// fake is a fault that only notes that it was.
func fake(name string, lasts time.Duration, noted chan<- string) Fault {
	return Fault{
		Name: name, Lasts: func(*rand.Rand) time.Duration { return lasts },
		Begin: func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
			noted <- name + "+"
			return func(context.Context) error { noted <- name + "-"; return nil }, nil
		},
	}
}

func TestPlayEndsWhatItBegan(t *testing.T) {
	noted := make(chan string, 10)
	w := &World{active: map[*running]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	cards := []PlannedFault{
		{Faults: []Fault{fake("long", 200*time.Millisecond, noted), fake("short", 0, noted)}, Stagger: 20 * time.Millisecond},
		{Faults: []Fault{fake("cut off", time.Hour, noted)}},
		{Faults: []Fault{fake("never", 0, noted)}},
	}
	var said []string
	err := w.Play(ctx, cards, func(_ time.Duration, what string) {
		if said = append(said, what); what == "cut off begins" {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
	})
	if err == nil {
		t.Error("it says nothing of being stopped")
	}
	close(noted)
	var order []string
	for name := range noted {
		order = append(order, name)
	}
	if want := []string{"long+", "short+", "short-", "long-", "cut off+", "cut off-"}; !slices.Equal(order, want) {
		t.Errorf("it played %q, want %q", order, want)
	}
	if _, ok := w.Healthy(); !ok {
		t.Error("a fault is left under way")
	}
	if len(said) != 6 {
		t.Errorf("it said %q", said)
	}
}
