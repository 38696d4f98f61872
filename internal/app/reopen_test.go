package app_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// Servers use Redis again although jobs fail. Changes during the refusal are visible, and ended
// sessions stay ended.
func TestRedisIsReopenedWithWaitingJobs(t *testing.T) {
	silent := testkit.Refusal{
		Name: "silent",
		Begin: func(ctx context.Context, admin *redis.Client) error {
			return admin.Do(ctx, "CLIENT", "PAUSE", "60000", "WRITE").Err()
		},
		End: func(ctx context.Context, admin *redis.Client) error { return admin.Do(ctx, "CLIENT", "UNPAUSE").Err() },
	}
	// REPLICAOF changes the replication id, so READONLY needs a recovery. NOREPLICAS does not.
	readonly, noReplicas := testkit.Refusals()[0], testkit.Refusals()[2]
	for _, state := range []testkit.Refusal{readonly, noReplicas, silent} {
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			layout := "one"
			if state.Name == noReplicas.Name {
				layout = "state"
			}
			r := newRefusing(t, state, layout, 2)
			bob, leaver := r.market.customers[0], r.market.customers[1]
			servers := []*apptest.Server{r.a, r.b}
			rename := func(name string) {
				t.Helper()
				const query = `mutation R($n: String!) { updateProfile(input: {nickname: $n}) { userErrors { code } } }`
				if code := codeOf(t, r.a.As(bob.token).Do(t, query, map[string]any{"n": name}, nil)); code != "" {
					t.Errorf("rename: got %s", code)
				}
			}
			nickname := func(s *apptest.Server) string {
				var who meAnswer
				if codeOf(t, s.As(bob.token).Do(t, meQuery, nil, &who)) != "" || who.Me == nil {
					return ""
				}
				return who.Me.Nickname
			}
			sent := 0
			sends := func(s *apptest.Server) bool { // login codes need Redis
				sent++
				phone := fmt.Sprintf("139%08d", sent)
				return codeOf(t, s.Do(t, `mutation S($p: String!) { sendLoginCode(phone: $p) { expiresInSeconds } }`, map[string]any{"p": phone}, nil)) == ""
			}
			rename("Before")
			for _, s := range servers {
				testkit.Eventually(t, 20*time.Second, func() bool {
					return nickname(s) == "Before" && signedIn(t, s.As(leaver.token)) == leaver.id && sends(s)
				})
			}
			r.begin(t)
			for range 4 { // the first ones may precede the closed gate
				for _, s := range servers {
					testkit.Eventually(t, 20*time.Second, func() bool { return !sends(s) })
				}
			}
			if layout == "state" { // nickname jobs fail while the cache Redis refuses writes
				other := testkit.AdminClient(t, direct(t, r.stack.Config.RedisCacheURL)).(*redis.Client)
				if err := state.Begin(t.Context(), other); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = state.End(context.WithoutCancel(t.Context()), other) }()
			} else { // the handler cannot parse this job, which fails until it is parked
				const job = `INSERT INTO outbox_jobs (topic, payload, tries, failures, created_at, due_at) VALUES ('users', '{}', 0, 0, 0, 0)`
				if _, err := r.stack.SQL(t).ExecContext(t.Context(), job); err != nil {
					t.Fatal(err)
				}
			}
			rename("Meanwhile")
			if code := codeOf(t, r.a.As(leaver.token).Do(t, `mutation { logout { userErrors { code } } }`, nil, nil)); code != "" {
				t.Errorf("logout: got %s", code)
			}
			r.end(t)
			for i, s := range servers {
				t.Logf("server %d uses Redis after %v", i, until(t, func() bool { return sends(s) }))
			}
			right := func(s *apptest.Server) bool {
				return nickname(s) == "Meanwhile" && signedIn(t, s.As(leaver.token)) == ""
			}
			if state.Name == silent.Name { // used before its repair
				for _, s := range servers {
					testkit.Eventually(t, 2*slow, func() bool { return right(s) })
				}
			}
			for range 20 {
				for i, s := range servers {
					if !right(s) {
						t.Fatalf("server %d: got nickname %q and the session of %q", i, nickname(s), signedIn(t, s.As(leaver.token)))
					}
				}
			}
		})
	}
}
