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
func cardsOf(deck [][]string) ([]Card, error) {
	cards := make([]Card, len(deck))
	for i, names := range deck {
		cards[i] = Card{After: cardPause, Apart: cardApart}
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
func fill(cards []Card, d time.Duration, seed uint64) []Card {
	var all []Card
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

func deckText(cards []Card) string {
	if len(cards) == 0 {
		return "no faults"
	}
	texts := make([]string, len(cards))
	for i, c := range cards {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}

func forgets(cards []Card) bool { return slices.ContainsFunc(cards, Card.Forgets) }
