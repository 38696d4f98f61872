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

// strangers are those who have neither an account nor our cookie. It is safe for
// concurrent use.
type strangers struct {
	secret atomic.Pointer[[]byte] // nil until it was read
	most   int                    // that are remembered

	mu    sync.Mutex
	known map[stranger]Visitor // digested before
}

// A stranger is what there is to know somebody by.
type stranger struct{ network, agent string }

func newStrangers(most int) *strangers {
	return &strangers{most: most, known: map[stranger]Visitor{}}
}

// Stranger is somebody who has neither an account nor our cookie: known by a digest of the
// client's network and user agent, so that no address reaches Redis. People behind one
// address with the same program are one. Before [Service.LearnSecret] it is nobody.
func (s *Service) Stranger(network, agent string) Visitor {
	secret := s.strangers.secret.Load()
	if secret == nil || network == "" {
		return Visitor{}
	}
	return s.strangers.of(*secret, stranger{network, agent[:min(len(agent), maxAgent)]})
}

func (s *strangers) of(secret []byte, who stranger) Visitor {
	s.mu.Lock()
	v, ok := s.known[who]
	s.mu.Unlock()
	if ok {
		return v
	}
	v = Visitor{Bot: IsBot(who.agent), Key: who.digest(secret)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= s.most {
		clear(s.known) // each can be digested again
	}
	s.known[who] = v
	return v
}

func (who stranger) digest(secret []byte) string {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(who.network + "\x00" + who.agent)) // never fails
	return "s:" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// LearnSecret reads what strangers are digested with, and makes it if this is the first
// process of all. Who answers requests calls it before.
func (s *Service) LearnSecret(ctx context.Context) error {
	secret, err := ent.Secret(ctx, s.db, secretSetting)
	if err != nil {
		return fmt.Errorf("learn the secret of visits: %w", err)
	}
	s.strangers.secret.Store(&secret)
	return nil
}
