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

// secretSetting is what strangers are digested with: the same for all processes, for
// good, or who comes back would be another.
const secretSetting = "visit.secret"

// maxAgent is how many bytes of a user agent are looked at.
const maxAgent = 512

// anonymous are those who have neither an account nor our cookie. It is safe for
// concurrent use.
type anonymous struct {
	secret atomic.Pointer[[]byte] // nil until it was read
	max    int                    // that are remembered

	mu    sync.Mutex
	known map[fingerprint]Visitor // digested before
}

// A fingerprint is what there is to know somebody by.
type fingerprint struct{ network, agent string }

func newAnonymous(max int) *anonymous {
	return &anonymous{max: max, known: map[fingerprint]Visitor{}}
}

// Stranger is somebody who has neither an account nor our cookie: known by a digest of the
// client's network and user agent, so that no address reaches Redis. People behind one
// address with the same program are one. Before [Service.LoadSecret] it is nobody.
func (s *Service) Stranger(network, agent string) Visitor {
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
		clear(s.known) // each can be digested again
	}
	s.known[f] = v
	return v
}

func (f fingerprint) digest(secret []byte) string {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(f.network + "\x00" + f.agent)) // never fails
	return "s:" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// LoadSecret reads what strangers are digested with, and makes it if this is the first
// process of all. Who answers requests calls it before.
func (s *Service) LoadSecret(ctx context.Context) error {
	secret, err := ent.Secret(ctx, s.db, secretSetting)
	if err != nil {
		return fmt.Errorf("learn the secret of visits: %w", err)
	}
	s.anonymous.secret.Store(&secret)
	return nil
}
