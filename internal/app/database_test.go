package app_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestSessionPoolerServesConcurrentUpdates(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	direct := stack.Config.DatabaseURL
	stack.Config.LogReader = "auto"
	stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
	stack.Config.DatabaseURL = testkit.PgBouncer(t, direct, "pool_mode = session", "default_pool_size = 40")
	s := stack.Start(t)
	var people sync.WaitGroup
	for i := range 20 {
		people.Go(func() {
			as, _ := s.Login(t, fmt.Sprintf("+86138001380%02d", i))
			for round := range 5 {
				name := fmt.Sprintf("Person %d-%d", i, round)
				var got struct {
					UpdateProfile struct{ User struct{ Nickname string } }
				}
				as.Must(t, `mutation P($n: String!) { updateProfile(input: {nickname: $n, city: $n}) { user { nickname } } }`, map[string]any{"n": name}, &got)
				var who struct {
					Me struct{ Nickname, City string }
				}
				as.Must(t, `{ me { nickname city } }`, nil, &who)
				if got.UpdateProfile.User.Nickname != name || who.Me.Nickname != name || who.Me.City != name {
					t.Errorf("%s reads %+v", name, who.Me)
				}
			}
		})
	}
	people.Wait()
}

// Neither sees, wakes or locks out the other.
func TestInstallationsInTwoSchemasAreIsolated(t *testing.T) {
	t.Parallel()
	dsn := testkit.Postgres(t)
	one, two := apptest.Real(t), apptest.Real(t)
	one.Config.DatabaseURL, two.Config.DatabaseURL = dsn+"&search_path=one", dsn+"&search_path=two,public"
	one.Config.RedisURL = "" // so it needs an exclusive claim, within its schema
	db := (&apptest.Stack{Config: one.Config}).SQL(t)
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA one; CREATE SCHEMA two"); err != nil {
		t.Fatal(err)
	}
	servers := map[string]*apptest.Server{}
	for schema, stack := range map[string]*apptest.Stack{"one": one, "two": two} {
		stack.Config.LogReader = "auto"
		stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
		servers[schema] = stack.Start(t)
	}
	names := map[string]string{}
	for schema, s := range servers {
		waitForLogReader(t, time.Minute, s)
		as, _ := s.Login(t, "+8613800138000")
		read := func() string {
			var who struct{ Me struct{ Nickname string } }
			as.Must(t, `{ me { nickname } }`, nil, &who)
			return who.Me.Nickname
		}
		read() // fills the cache
		names[schema] = "In " + schema
		if _, err := db.ExecContext(t.Context(), "UPDATE "+schema+".users SET nickname = $1", names[schema]); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 10*time.Second, func() bool { return read() == names[schema] })
	}
	for schema, want := range names {
		var got string
		if err := db.QueryRowContext(t.Context(), "SELECT nickname FROM "+schema+".users").Scan(&got); err != nil || got != want {
			t.Errorf("schema %s has %q, want %q (%v)", schema, got, want, err)
		}
	}
	var public int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&public); err != nil || public != 0 {
		t.Errorf("%d tables in the schema public (%v)", public, err)
	}
}
