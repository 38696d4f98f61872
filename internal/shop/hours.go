package shop

import (
	"fmt"
	"strings"
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

// hours parses the opening hours of a shop. It returns false if they are unknown.
func (s *Shop) hours() (openinghours.Hours, bool) {
	if s.OpenHours == nil {
		return openinghours.Hours{}, false
	}
	h, err := openinghours.Parse(*s.OpenHours)
	return h, err == nil
}

// Zone returns the time zone of a shop: its own, or the one of the server.
func (s *Service) Zone(shop *Shop) *time.Location { return s.zones.location(shop.TimeZone) }

// Hours returns the opening hours of a shop in the current week, or nil if they are unknown.
func (s *Service) Hours(shop *Shop) *OpeningHours {
	h, ok := shop.hours()
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
	h, ok := shop.hours()
	if !ok {
		return nil
	}
	open := h.IsOpen(now.In(s.Zone(shop)))
	return &open
}

func clockTime(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

const weekHours = 7 * 24

// openMask returns the column open_mask for opening hours: one digit for each hour of the
// week from Monday, 1 if the shop may be open in it. Hours that depend on the date may be
// any. It returns nil for hours that are unknown.
func openMask(text *string) *string {
	if text == nil {
		return nil
	}
	h, err := openinghours.Parse(*text)
	if err != nil {
		return nil
	}
	mask := []byte(strings.Repeat("0", weekHours))
	if h.Varies() {
		mask = []byte(strings.Repeat("1", weekHours))
	}
	for _, r := range h.Week(time.Unix(0, 0).UTC()) {
		for hour := r.From / 60; hour*60 < r.To; hour++ {
			mask[hour] = '1'
		}
	}
	m := string(mask)
	return &m
}
