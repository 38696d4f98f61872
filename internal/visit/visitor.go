package visit

import (
	"context"
	"strconv"
	"time"
)

// A Visitor is who sends a request.
type Visitor struct {
	Key    string // the same for the same person: see [User], [Cookie] and [Service.Stranger]; "" is nobody known
	Beacon bool   // it is an app that says itself what it shows
	Bot    bool   // it says of itself that it is one
}

// counted reports whether what the visitor asks counts by itself.
func (v Visitor) counted() bool { return v.Key != "" && !v.Beacon && !v.Bot }

type visitorKey struct{}

// With returns the context of an operation that v asks for.
func With(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, &v)
}

// Keys of visitors. The first letter keeps the kinds apart.

// User is the key of somebody who is signed in.
func User(id string) string { return "u:" + id }

// Cookie is the key of somebody who is not, but has our cookie.
func Cookie(id string) string { return "v:" + id }

// RecordShop counts that whoever ctx says looked at a shop, by asking for it: nobody known,
// a bot, and an app that sends a beacon for it do not count. It does no I/O. A shop that
// does not exist is dropped later.
func (s *Service) RecordShop(ctx context.Context, shop int64) {
	if v, _ := ctx.Value(visitorKey{}).(*Visitor); v != nil && v.counted() {
		s.counts.shop.Inc()
		s.buffer.add(bucket{shop, s.today()}, v.Key)
	}
}

// RecordOperation counts that a visitor asked for something: a view of the site, unless one
// was counted within the last 30 seconds. It does no I/O.
func (s *Service) RecordOperation(v Visitor) {
	if !v.counted() {
		return
	}
	if now := s.cfg.Now(); s.recent.first(v.Key, now) {
		s.counts.site.Inc()
		s.buffer.add(bucket{site, s.today()}, v.Key)
	}
}

// Page counts that an app showed a page to a visitor, a shop's, or another one with shop
// 0. It does no I/O.
func (s *Service) Page(v Visitor, shop int64) {
	if v.Key == "" || v.Bot {
		return
	}
	day := s.today()
	s.counts.site.Inc()
	s.buffer.add(bucket{site, day}, v.Key)
	if shop != site {
		s.counts.shop.Inc()
		s.buffer.add(bucket{shop, day}, v.Key)
	}
}

// site stands where a shop's number does.
const site = int64(0)

// nameOf is a shop, or the site, as keys have it.
func nameOf(shop int64) string {
	if shop == site {
		return "site"
	}
	return strconv.FormatInt(shop, 10)
}

// pause is how long a client that sends no beacon is not counted again.
const pause = 30 * time.Second
