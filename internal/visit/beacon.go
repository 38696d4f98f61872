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

	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

const (
	// CookieName is the cookie that identifies an anonymous visitor.
	CookieName = "tandian_visitor"

	cookieLife = 365 * 24 * time.Hour
	maxBeacon  = 1 << 10 // bytes of a body
	maxPath    = 500     // bytes
)

type pageView struct {
	Path string  `json:"path"`
	Shop *string `json:"shop"` // global id
}

// Beacon returns the handler of POST /visit. The web app reports its pages there, as JSON:
// {"path": "/…", "shop": the shop's global id or null}. shopID parses a global id.
//
// The status is 204 for a counted page and for a bot, and 405 for another method. It is 413 for a
// body above 1 KB, and 400 for an invalid one. The response sets the cookie if there is none.
// [gqlserver.Server.Guard] must wrap the handler, with the same proxies.
func (s *Service) Beacon(proxies clientaddr.Proxies, shopID func(id string) (int64, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		shop, status := readBeacon(w, r, shopID)
		if status == http.StatusNoContent && !IsBot(r.UserAgent()) {
			s.RecordPage(identify(w, r, proxies.HTTPS(r)), shop)
		}
		w.WriteHeader(status)
	})
}

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

// identify returns the sender of a beacon. A client without a cookie gets one, also if it
// has logged in: the cookie marks clients that send beacons.
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
	if user, _ := gqlserver.CallerOf(r.Context()); user != "" {
		return Visitor{Key: User(user), Beacon: true}
	}
	return Visitor{Key: Cookie(cookie), Beacon: true}
}

var cookieValue = regexp.MustCompile(`^[A-Za-z0-9_-]{16,64}$`)

// CookieOf returns the visitor's cookie from the headers of a request, if it is valid.
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
