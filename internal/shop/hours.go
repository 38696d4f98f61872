package shop

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/openinghours"
)

// OpeningHours are the opening hours of a shop in one week.
type OpeningHours struct {
	Text       string       // in the syntax of OpenStreetMap
	Week       []OpeningDay // Monday first
	NextChange *time.Time   // when the shop opens or closes next; nil for never
}

// OpeningDay is a weekday, from 1 for Monday to 7 for Sunday.
type OpeningDay struct {
	Weekday int
	Ranges  []OpeningRange
}

// OpeningRange is a time range as HH:MM. Closes may be after midnight, such as 26:00.
type OpeningRange struct{ Opens, Closes string }

// maxParsed is the maximum number of texts in parsedHours, of up to a few KB each.
const maxParsed = 1000

// parsedHours keeps parsed opening hours by their text. Many shops share a text, and parsing
// them took a third of the time of a page of open shops. A full map starts again.
type parsedHours struct {
	mu    sync.Mutex
	known map[string]parsedText
}

type parsedText struct {
	hours openinghours.Hours
	known bool
}

// of returns the opening hours of a shop. It returns false if they are unknown.
func (p *parsedHours) of(shop *Shop) (openinghours.Hours, bool) {
	if shop.OpenHours == nil {
		return openinghours.Hours{}, false
	}
	text := *shop.OpenHours
	p.mu.Lock()
	found, ok := p.known[text]
	p.mu.Unlock()
	if ok {
		return found.hours, found.known
	}
	h, err := openinghours.Parse(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxParsed || p.known == nil {
		p.known = map[string]parsedText{}
	}
	p.known[text] = parsedText{h, err == nil}
	return h, err == nil
}

// Zone returns the time zone of a shop: its own, or the one of the server.
func (s *Service) Zone(shop *Shop) *time.Location { return s.zones.location(shop.TimeZone) }

// Hours returns the opening hours of a shop in the current week, or nil if they are unknown.
func (s *Service) Hours(shop *Shop) *OpeningHours {
	h, ok := s.hours.of(shop)
	if !ok {
		return nil
	}
	now := s.now().In(s.Zone(shop))
	out := &OpeningHours{Text: h.String(), Week: make([]OpeningDay, 7)}
	monday := now.AddDate(0, 0, -int(now.Weekday()+6)%7)
	for i := range out.Week {
		day := OpeningDay{Weekday: i + 1, Ranges: []OpeningRange{}}
		for _, r := range h.Day(monday.AddDate(0, 0, i)) {
			day.Ranges = append(day.Ranges, OpeningRange{clockTime(r.Opens), clockTime(r.Closes)})
		}
		out.Week[i] = day
	}
	if next, ok := h.NextChange(now); ok {
		out.NextChange = &next
	}
	return out
}

// IsOpen reports whether a shop is open now; nil if its hours are unknown.
func (s *Service) IsOpen(shop *Shop) *bool { return s.isOpen(shop, s.now()) }

func (s *Service) isOpen(shop *Shop, now time.Time) *bool {
	h, ok := s.hours.of(shop)
	if !ok {
		return nil
	}
	is := h.IsOpen(now.In(s.Zone(shop)))
	return &is
}

func clockTime(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

const weekHours = 7 * 24

// Digits of the column open_mask.
const (
	closed    = '0' // during the whole hour
	uncertain = '1'
	open      = '2' // during the whole hour
)

// openMask returns the column open_mask: a digit for each hour of the week in UTC, from
// Monday. Summer time and hours that depend on the date make it less certain, but never
// wrong. So SQL selects candidates with one comparison, and [Service.isOpen] decides. It
// returns nil for unknown hours.
func openMask(text *string, zone *time.Location) *string {
	if text == nil {
		return nil
	}
	h, err := openinghours.Parse(*text)
	if err != nil {
		return nil
	}
	if h.Varies() {
		mask := strings.Repeat(string(uncertain), weekHours)
		return &mask
	}
	const hour, week = 60, 60 * weekHours
	var minutes [week]bool // open, in local time
	for _, r := range h.Week(time.Unix(0, 0).UTC()) {
		for m := r.From; m < r.To; m++ {
			minutes[m] = true
		}
	}
	var some, all [weekHours]int
	offsets := offsetsOf(zone)
	for _, offset := range offsets {
		for m := range minutes {
			if local := ((m+offset)%week + week) % week; minutes[local] {
				some[m/hour]++
			}
		}
	}
	for i := range all {
		all[i] = hour * len(offsets)
	}
	mask := make([]byte, weekHours)
	for i := range mask {
		switch some[i] {
		case 0:
			mask[i] = closed
		case all[i]:
			mask[i] = open
		default:
			mask[i] = uncertain
		}
	}
	out := string(mask)
	return &out
}

// offsetsOf returns the offsets of a zone from UTC within a year, in minutes.
func offsetsOf(zone *time.Location) []int {
	var offsets []int
	for day := time.Now(); len(offsets) == 0 || time.Until(day) < 366*24*time.Hour; day = day.AddDate(0, 0, 7) {
		_, seconds := day.In(zone).Zone()
		if !slices.Contains(offsets, seconds/60) {
			offsets = append(offsets, seconds/60)
		}
	}
	return offsets
}

// maskIndex returns the position of a time in the column open_mask, from 1.
func maskIndex(now time.Time) int {
	now = now.UTC()
	return int(now.Weekday()+6)%7*24 + now.Hour() + 1
}
