package faulttest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	cardPause   = 1200 * time.Millisecond // before a card that was chosen by name
	cardStagger = 800 * time.Millisecond  // between the starts of its faults
)

// cardsByName builds cards from fault names. In a pair, slow-pg delays statements past all
// timeouts, as in [Pairs].
func cardsByName(deck [][]string) ([]PlannedFault, error) {
	cards := make([]PlannedFault, len(deck))
	for i, names := range deck {
		cards[i] = PlannedFault{After: cardPause, Stagger: cardStagger}
		for _, name := range names {
			f, ok := FaultNamed(name)
			if !ok {
				return nil, fmt.Errorf("unknown fault %q", name)
			}
			if name == "slow-pg" && len(names) > 1 {
				f = slowPGTooLate(oneServer)
			}
			cards[i].Faults = append(cards[i].Faults, f)
		}
	}
	return cards, nil
}

// fill repeats cards with changing seeds, for about d.
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

func losesData(cards []PlannedFault) bool { return slices.ContainsFunc(cards, PlannedFault.LosesData) }
