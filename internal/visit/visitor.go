package visit

import (
	"context"
	"strconv"
	"time"
)

// A Visitor is the client of a request. The zero value is an unknown client.
type Visitor struct {
	Key    string // identity, see [User], [Cookie] and [Service.Anonymous]; "" if unknown
	Beacon bool   // the client reports its pages with beacons
	Bot    bool   // the client identifies itself as a bot
}

// counted reports whether requests of the visitor count as views.
func (v Visitor) counted() bool { return v.Key != "" && !v.Beacon && !v.Bot }

type visitorKey struct{}

// With returns a context for an operation of v.
func With(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, &v)
}

// Keys of visitors. The first letter is the kind.

// User returns the key of a user.
func User(id string) string { return "u:" + id }

// Cookie returns the key of an anonymous visitor with a cookie.
func Cookie(id string) string { return "v:" + id }

// RecordShop counts a view of a shop by the visitor of ctx. It ignores unknown visitors, bots and
// clients that send beacons. It does no I/O. A shop that does not exist is dropped later.
func (s *Service) RecordShop(ctx context.Context, shop int64) {
	if v, _ := ctx.Value(visitorKey{}).(*Visitor); v != nil && v.counted() {
		s.counts.shop.Inc()
		s.buffer.add(bucket{shop, s.today()}, v.Key)
	}
}

// RecordOperation counts an operation of a visitor as a view of the site, unless one was
// counted within the last 30 seconds. It does no I/O.
func (s *Service) RecordOperation(v Visitor) {
	if !v.counted() {
		return
	}
	if now := s.cfg.Now(); s.recent.first(v.Key, now) {
		s.counts.site.Inc()
		s.buffer.add(bucket{site, s.today()}, v.Key)
	}
}

// RecordPage counts a page that an app showed to a visitor: of a shop, or another page if shop is
// 0. It does no I/O.
func (s *Service) RecordPage(v Visitor, shop int64) {
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

// site is the shop id of the site.
const site = int64(0)

// nameOf returns the name of a shop, or the site, in keys.
func nameOf(shop int64) string {
	if shop == site {
		return "site"
	}
	return strconv.FormatInt(shop, 10)
}

// pause is the time in which a client without beacons counts once.
const pause = 30 * time.Second
