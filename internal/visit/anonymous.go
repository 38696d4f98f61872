package visit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tandian-dev/tandian/ent"
)

// secretSetting names the secret for digests of anonymous visitors. All processes use it
// permanently: with another secret, a returning visitor would count again.
const secretSetting = "visit.secret"

const maxAgent = 512 // bytes of a user agent that are read

// anonymous identifies clients without an account and a cookie. It is safe for concurrent use.
type anonymous struct {
	secret atomic.Pointer[[]byte] // nil before LoadSecret
	max    int                    // maximum size of known

	mu    sync.Mutex
	known map[fingerprint]Visitor // cached digests
}

type fingerprint struct{ network, agent string }

func newAnonymous(limit int) *anonymous {
	return &anonymous{max: limit, known: map[fingerprint]Visitor{}}
}

// Anonymous returns an anonymous visitor: a digest of the client's network and user agent, so
// that no address reaches Redis. Clients with the same address and program count as one.
// Before [Service.LoadSecret], and without a network, it returns the zero Visitor.
func (s *Service) Anonymous(network, agent string) Visitor {
	secret := s.anonymous.secret.Load()
	if secret == nil || network == "" {
		return Visitor{}
	}
	return s.anonymous.visitor(*secret, fingerprint{network, agent[:min(len(agent), maxAgent)]})
}

func (s *anonymous) visitor(secret []byte, f fingerprint) Visitor {
	s.mu.Lock()
	v, ok := s.known[f]
	s.mu.Unlock()
	if ok {
		return v
	}
	v = Visitor{Bot: IsBot(f.agent), Key: f.digest(secret)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= s.max {
		clear(s.known) // only a cache
	}
	s.known[f] = v
	return v
}

func (f fingerprint) digest(secret []byte) string {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(f.network + "\x00" + f.agent)) // never fails
	return "s:" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// LoadSecret reads the secret for anonymous visitors, or creates it. A process that serves
// requests calls it first.
func (s *Service) LoadSecret(ctx context.Context) error {
	secret, err := ent.Secret(ctx, s.db, secretSetting)
	if err != nil {
		return fmt.Errorf("load visit secret: %w", err)
	}
	s.anonymous.secret.Store(&secret)
	return nil
}
