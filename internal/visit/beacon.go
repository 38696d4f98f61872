package visit

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/door"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

const (
	// CookieName is the cookie by which somebody is known who is not signed in.
	CookieName = "tandian_visitor"

	cookieLife = 365 * 24 * time.Hour
	maxBeacon  = 1 << 10 // bytes of a body
	maxPath    = 500     // bytes
)

// A pageView is what a beacon tells.
type pageView struct {
	Path string  `json:"path"`
	Shop *string `json:"shop"` // global id
}

// Beacon takes what our own app says of the pages that it shows, for POST /visit: JSON
// {"path": "/…", "shop": the shop's global id or null}. The answer is 204 when it counted,
// or was a bot's; 405, 413 for more than 1 KB, and 400 for what is not such a page. It sets
// the cookie of who has none. It stands behind [door.Server.Guard]; proxies are the door's,
// shopID reads a global id.
func (s *Service) Beacon(proxies door.Proxies, shopID func(id string) (int64, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		shop, status := readBeacon(w, r, shopID)
		if status == http.StatusNoContent && !IsBot(r.UserAgent()) {
			s.Page(identify(w, r, proxies.HTTPS(r)), shop)
		}
		w.WriteHeader(status)
	})
}

// readBeacon reads a beacon, and returns the shop that it is about and the status to answer
// with.
func readBeacon(w http.ResponseWriter, r *http.Request, shopID func(string) (int64, error)) (shop int64, status int) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBeacon))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return 0, http.StatusRequestEntityTooLarge
	}
	var p pageView
	if err != nil || json.Unmarshal(jsonbody.TrimBOM(body), &p) != nil || !strings.HasPrefix(p.Path, "/") || len(p.Path) > maxPath {
		return 0, http.StatusBadRequest
	}
	if p.Shop == nil {
		return site, http.StatusNoContent
	}
	if shop, err = shopID(*p.Shop); err != nil {
		return 0, http.StatusBadRequest
	}
	return shop, http.StatusNoContent
}

// identify is who sends a beacon. Who has no cookie gets one, also somebody who is signed
// in: it says that this client sends beacons.
func identify(w http.ResponseWriter, r *http.Request, secure bool) Visitor {
	cookie, ok := CookieOf(r.Header)
	if !ok {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails
		cookie = base64.RawURLEncoding.EncodeToString(b[:])
		http.SetCookie(w, &http.Cookie{
			Name: CookieName, Value: cookie, Path: "/", MaxAge: int(cookieLife.Seconds()),
			HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure,
		})
	}
	if user, _ := door.CallerOf(r.Context()); user != "" {
		return Visitor{Key: User(user), Beacon: true}
	}
	return Visitor{Key: Cookie(cookie), Beacon: true}
}

var cookieValue = regexp.MustCompile(`^[A-Za-z0-9_-]{16,64}$`)

// CookieOf is the visitor's cookie among the headers of a request, if it is like one of
// ours.
func CookieOf(headers http.Header) (value string, ok bool) {
	for _, line := range headers["Cookie"] {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			if value, named := strings.CutPrefix(strings.TrimLeft(pair, " "), CookieName+"="); named && cookieValue.MatchString(value) {
				return value, true
			}
		}
	}
	return "", false
}
