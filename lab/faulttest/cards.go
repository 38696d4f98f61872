package faulttest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	cardPause = 1200 * time.Millisecond // before a card that was asked for by name
	cardApart = 800 * time.Millisecond  // between the beginnings of its faults
)

// cardsOf are cards by the names of their faults. In a pair, slow-pg is as late as in
// [Pairs]: too late for everything.
func cardsOf(deck [][]string) ([]PlannedFault, error) {
	cards := make([]PlannedFault, len(deck))
	for i, names := range deck {
		cards[i] = PlannedFault{After: cardPause, Apart: cardApart}
		for _, name := range names {
			f, ok := FaultNamed(name)
			if !ok {
				return nil, fmt.Errorf("there is no fault %q", name)
			}
			if name == "slow-pg" && len(names) > 1 {
				f = late8(anyone)
			}
			cards[i].Faults = append(cards[i].Faults, f)
		}
	}
	return cards, nil
}

// fill repeats cards, each time with other choices, for about d.
func fill(cards []PlannedFault, d time.Duration, seed uint64) []PlannedFault {
	var all []PlannedFault
	for passed := time.Duration(0); len(cards) > 0; {
		for _, card := range cards {
			if len(all) > 0 {
				card.Seed += seed
			}
			if passed += card.length(); passed > d && len(all) > 0 {
				return all
			}
			seed++
			all = append(all, card)
		}
	}
	return all
}

func deckText(cards []PlannedFault) string {
	if len(cards) == 0 {
		return "no faults"
	}
	texts := make([]string, len(cards))
	for i, c := range cards {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}

func forgets(cards []PlannedFault) bool { return slices.ContainsFunc(cards, PlannedFault.Forgets) }
