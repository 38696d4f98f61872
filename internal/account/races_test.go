package account

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// newSingleProcess returns a Service with a cache that knows which users exist.
func newSingleProcess(t *testing.T, from storetest.Process) (*Service, *mailbox) {
	t.Helper()
	hub, err := cache.NewClient(from.Redis, cache.Options{Prefix: storetest.Prefix, Log: from.Log, SingleProcess: true, LocalBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	box := &mailbox{secrets: from.Secrets}
	s := New(from.DB, hub, from.NewOutbox(t), Config{
		Redis: from.Redis, Prefix: storetest.Prefix, Pictures: storetest.AnyPictures{}, Sender: box, Registerer: prometheus.NewRegistry(), Log: from.Log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() { _ = hub.Run(ctx) })
	t.Cleanup(func() { cancel(); g.Wait(); hub.Wait() })
	for deadline := time.Now().Add(10 * time.Second); s.users.Stats().Excluded == 0; time.Sleep(10 * time.Millisecond) {
		_, _ = s.ByID(t.Context(), 987654+rand.Int64N(1e9))
		if time.Now().After(deadline) {
			t.Fatal("the existence filter is not ready")
		}
	}
	return s, box
}

// A login that ends during the creation of the account must not break the next one.
func TestAccountsOfAbortedLoginsAreUsable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := newSingleProcess(t, storetest.Open(t, on))
		orphans := 0
		for i := range 600 {
			p, err := ParsePhone(fmt.Sprintf("+8490%07d", i))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(1500))*time.Microsecond)
			_, _, err = s.register(ctx, p, p)
			cancel()
			if err == nil {
				continue
			}
			row, err := s.byPhone(t.Context(), p, p)
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				continue
			}
			again, _, err := s.register(t.Context(), p, p) // the next login
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.ByID(t.Context(), again.ID); err != nil {
				orphans++
			}
		}
		if orphans > 0 {
			t.Errorf("got %d accounts that can log in but are unknown to requests", orphans)
		}
	})
}

// A new user sends the second request to a process that has not received the invalidation
// yet. The session proves that the account exists.
func TestNewAccountsAreKnownBeforeTheirInvalidation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := newSingleProcess(t, storetest.Open(t, on))
		in := open(t, on, Config{}).login(t, ann)
		if v := s.Authenticate(t.Context(), in.Token); v.ID != in.User.ID || v.unknown != nil {
			t.Errorf("got user %d (%v), want %d", v.ID, v.unknown, in.User.ID)
		}
	})
}

// DisableDemoAccounts fails after the change of the roles, and is repeated.
func TestDisableDemoAccountsCanBeRepeated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		from := storetest.Open(t, on)
		p := New(from.DB, from.Hub, from.NewOutbox(t), Config{
			Redis: from.Redis, Prefix: storetest.Prefix, Pictures: storetest.AnyPictures{}, Sender: &mailbox{secrets: from.Secrets}, Registerer: from.Registry, Log: from.Log,
		})
		phone, err := ParsePhone("+84901234567")
		if err != nil {
			t.Fatal(err)
		}
		us, err := p.EnsureDemoAccounts(t.Context(), "correct horse", DemoAccount{Phone: phone, Nickname: "Boss", Role: Admin})
		if err != nil {
			t.Fatal(err)
		}
		pw := "correct horse"
		if _, err := p.Login(t.Context(), Credentials{Phone: "+84901234567", Password: &pw}); err != nil {
			t.Fatal(err)
		}
		if u, err := p.ByID(t.Context(), us[0].ID); err != nil || u.Role != Admin {
			t.Fatal(u, err)
		}
		var fail atomic.Bool
		from.DB.Session.Use(func(next ent.Mutator) ent.Mutator {
			return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
				if fail.Load() && m.Op().Is(ent.OpUpdate) {
					return nil, errors.New("injected failure")
				}
				return next.Mutate(ctx, m)
			})
		})
		fail.Store(true)
		if err := p.DisableDemoAccounts(t.Context(), phone); err == nil {
			t.Fatal("got no error")
		}
		fail.Store(false)
		if err := p.DisableDemoAccounts(t.Context(), phone); err != nil {
			t.Fatal(err)
		}
		if row := from.DB.User.Query().Where(entuser.ID(us[0].ID)).OnlyX(t.Context()); Role(row.Role) != Customer {
			t.Fatal(row.Role)
		}
		if u, err := p.ByID(t.Context(), us[0].ID); err != nil || u.Role != Customer {
			t.Errorf("got role %s, %v, want %s", u.Role, err, Customer)
		}
	})
}
