package importer

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tandian-dev/tandian/internal/kit/openinghours"
	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// setDetails sets the fields that have a syntax. It reports and omits invalid values.
// Opening hours in another syntax stay as text.
func (c *collector) setDetails(rec record, d *shop.Draft) {
	var odd []string
	for _, detail := range []struct {
		name, value string
		set         func(d *shop.Draft, value string) (ok bool)
	}{
		{"avg_price", rec.price, setPrice},
		{"score", rec.score, setScore},
		{"open_hours", rec.hours, setHours},
		{"phone", rec.phone, setPhone},
		{"website", rec.website, setWebsite},
		{"time_zone", rec.zone, setZone},
	} {
		if s := text.Line(detail.value); s != "" && !detail.set(d, s) {
			odd = append(odd, fmt.Sprintf("%s %q", detail.name, s))
		}
	}
	if odd != nil {
		c.file.Report.BadValue.add("%s %s", rec.where, strings.Join(odd, ", "))
	}
	if d.OpenHours == "" {
		return
	}
	if _, err := openinghours.Parse(d.OpenHours); err != nil {
		c.file.Report.UnknownHours.add("%s %q", rec.where, d.OpenHours)
	}
}

func setPrice(d *shop.Draft, s string) bool {
	price, err := strconv.Atoi(s)
	if err != nil || price < 0 || price > shop.MaxAvgPrice {
		return false
	}
	d.AvgPrice = &price
	return true
}

// setScore accepts 0, which means no score.
func setScore(d *shop.Draft, s string) bool {
	score, err := strconv.ParseFloat(s, 64)
	if err != nil || !(score == 0 || score >= 1 && score <= shop.MaxScore) {
		return false
	}
	d.Score = max(score, 0) // no negative zero
	return true
}

// setHours rejects texts that are too long, because the rest of one means other hours.
func setHours(d *shop.Draft, s string) bool {
	if text.Len(s) > shop.MaxOpenHours {
		return false
	}
	d.OpenHours = s
	return true
}

const minPhoneDigits = 3

// setPhone takes the first of several numbers between semicolons.
func setPhone(d *shop.Draft, s string) bool {
	s, _, _ = strings.Cut(s, ";")
	s = strings.TrimSpace(s)
	digits := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if digits < minPhoneDigits || text.Len(s) > shop.MaxPhone {
		return false
	}
	d.Phone = s
	return true
}

var (
	// nextWebsite separates addresses. A semicolon alone may be a part of an address.
	nextWebsite = regexp.MustCompile(`;(\s|https?:|www\.|$)`)

	// bareWebsite matches an address without a scheme: a domain, and perhaps a path.
	bareWebsite = regexp.MustCompile(`^([\pL\pN-]+\.)+\pL[\pL\pN-]+(:\d+)?([/?#].*)?$`)
)

// setWebsite takes the first of several addresses between semicolons.
func setWebsite(d *shop.Draft, s string) bool {
	if at := nextWebsite.FindStringIndex(s); at != nil {
		s = s[:at[0]]
	}
	if bareWebsite.MatchString(s) {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Contains(s, " ") || text.Len(s) > shop.MaxWebsite {
		return false
	}
	d.Website = s
	return true
}

func setZone(d *shop.Draft, s string) bool {
	if checkZone(s) != nil {
		return false
	}
	d.TimeZone = s
	return true
}

// checkZone returns an error unless name is the IANA name of a time zone.
func checkZone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" { // the zone of the machine
		return fmt.Errorf("unknown time zone %q", name)
	}
	return nil
}
