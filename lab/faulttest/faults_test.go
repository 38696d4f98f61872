package faulttest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/graph/scalar"
)

const patience = 20 * time.Second

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("within %v not: %s", patience, what)
		}
	}
}

// A trial has a live world, and one fault in it at a time.
type trial struct {
	*testing.T
	*World
	r *rand.Rand
}

// under begins a fault, looks what it does, and ends it. Everything is well again
// then.
func (s trial) under(f Fault, look func(ctx context.Context)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	under, err := s.begin(ctx, f, s.r)
	if err != nil {
		s.Fatal(err)
	}
	if _, ok := s.Healthy(); ok {
		s.Error("the world is healthy under a fault")
	}
	look(ctx)
	if err := s.finish(ctx, under); err != nil {
		s.Fatal(err)
	}
	if since, ok := s.Healthy(); !ok || time.Since(since) > time.Minute {
		s.Errorf("after a fault: healthy %v since %v", ok, since)
	}
	for i := range s.Servers() {
		eventually(s.T, "all are ready afterwards", func() bool { return ready(ctx, s.URL(i)) == nil })
	}
}

// answering says whether a server answers anything within half a second.
func (s trial) answering(ctx context.Context, server int) bool {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(server)+"/healthz", http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err == nil
}

// stores say whether both answer within half a second.
func (s trial) stores(ctx context.Context) (pg, rdb bool) {
	pings := func(ping func(context.Context) error) bool {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		return ping(short) == nil
	}
	return pings(s.pg.ping), pings(s.master().ping)
}

// through opens Redis the way a server goes there.
func (s trial) through(server int) redis.UniversalClient {
	rdb, err := openServersRedis(redisURL(s.toRedis[server].listen))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (s trial) redis(ctx context.Context, args ...any) string {
	s.Helper()
	var said any
	err := s.withRedis(func(rdb redis.UniversalClient) (err error) {
		said, err = rdb.Do(ctx, args...).Result()
		return err
	})
	if errors.Is(err, redis.Nil) {
		return ""
	}
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprint(said)
}

func (s trial) exec(ctx context.Context, text string) {
	s.Helper()
	if err := s.pg.with(func(db *sql.DB) error { _, err := db.ExecContext(ctx, text); return err }); err != nil {
		s.Fatal(err)
	}
}

// Each fault does what it says, and its end mends it.
func TestEachFaultDoesWhatItSays(t *testing.T) {
	w := aWorld(t, Options{People: 5})
	seed := rand.Uint64() //nolint:gosec // no secret
	t.Logf("seed %d", seed)
	tests := map[string]func(s trial){
		"kill-server": func(s trial) {
			s.under(KillServer(Nth(1)), func(ctx context.Context) {
				if s.answering(ctx, 1) || !s.answering(ctx, 0) {
					s.Error("the second one answers, or the first one does not")
				}
			})
		},
		"kill-both": func(s trial) {
			s.under(KillBoth(), func(ctx context.Context) {
				if s.answering(ctx, 0) || s.answering(ctx, 1) {
					s.Error("one answers")
				}
			})
		},
		"pause-server": func(s trial) {
			pid := s.servers[0].cmd.Process.Pid
			s.under(PauseServer(Nth(0)), func(ctx context.Context) {
				if s.answering(ctx, 0) || !s.answering(ctx, 1) {
					s.Error("the first one answers, or the second one does not")
				}
			})
			if now := s.servers[0].cmd.Process.Pid; now != pid {
				s.Errorf("it was another process, %d, afterwards", now)
			}
		},
		"rolling-restart": func(s trial) {
			before := []int{s.servers[0].cmd.Process.Pid, s.servers[1].cmd.Process.Pid}
			s.under(RollingRestart(), func(context.Context) {})
			for i, pid := range before {
				if s.servers[i].cmd.Process.Pid == pid {
					s.Errorf("server %d was not started again", i)
				}
			}
		},
		"kill-redis":  s(KillRedis, true, false, true),
		"pause-redis": s(PauseRedis, true, false, true),
		"kill-pg":     s(KillPG, false, true, false),
		"pause-pg":    s(PausePG, false, true, false),
		"refuse-writes": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "SET", "held", "before")
			s.under(RefuseWrites(), func(ctx context.Context) {
				rdb := s.through(0)
				if err := rdb.Set(ctx, "held", "after", 0).Err(); !redis.HasErrorPrefix(err, "NOREPLICAS") {
					s.Errorf("a write: %v", err)
				}
				if got, err := rdb.Get(ctx, "held").Result(); err != nil || got != "before" {
					s.Errorf("a read: %q, %v", got, err)
				}
			})
			s.redis(ctx, "SET", "held", "again")
		},
		"redis-power-cut": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "SET", "old", "kept")
			time.Sleep(2500 * time.Millisecond) // longer than what a cut takes at most
			s.redis(ctx, "SET", "new", "lost")
			s.under(RedisPowerCut(), func(context.Context) {})
			if old, young := s.redis(ctx, "GET", "old"), s.redis(ctx, "GET", "new"); old != "kept" || young != "" {
				s.Errorf("the old value is %q, the new one %q", old, young)
			}
		},
		"redis-wipe": func(s trial) {
			s.redis(s.Context(), "SET", "key", "lost")
			s.under(RedisWipe(), func(context.Context) {})
			if got := s.redis(s.Context(), "GET", "key"); got != "" {
				s.Errorf("there is still %q", got)
			}
		},
		"evict-stock": func(s trial) {
			ctx := s.Context()
			_, err := s.begin(ctx, EvictStock(), s.r)
			if !errors.Is(err, ErrNothing) {
				s.Errorf("without a sale: %v", err)
			}
			for _, key := range []string{"stock", "meta", "buyers:0"} {
				s.redis(ctx, "SET", "td:sale:{p3}:7:"+key, "1")
			}
			s.under(EvictStock(), func(context.Context) {})
			if n := s.redis(ctx, "EXISTS", "td:sale:{p3}:7:stock", "td:sale:{p3}:7:meta", "td:sale:{p3}:7:buyers:0"); n != "2" {
				s.Errorf("%s of three keys are left", n)
			}
			s.redis(ctx, "UNLINK", "td:sale:{p3}:7:stock", "td:sale:{p3}:7:meta", "td:sale:{p3}:7:buyers:0")
		},
		"replica-failover": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "SET", "old", "kept")
			before := s.master()
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() { // writes all the time, and stops at the first failure
				defer close(stopped)
				for n := 1; ; n++ {
					err := before.with(func(rdb redis.UniversalClient) error { return rdb.Set(ctx, "count", n, 0).Err() })
					select {
					case <-stop:
						return
					default:
					}
					if err != nil {
						<-stop
						return
					}
				}
			}()
			s.under(ReplicaFailover(), func(context.Context) {})
			close(stop)
			<-stopped
			if s.master() == before || before.Running() {
				s.Error("the master is the same, or lives")
			}
			if got := s.redis(ctx, "GET", "old"); got != "kept" {
				s.Errorf("the old value is %q", got)
			}
			url := s.RedisURL()
			rdb, err := openServersRedis(url)
			if err != nil {
				s.Fatal(err)
			}
			defer func() { _ = rdb.Close() }()
			eventually(s.T, "the address of Redis leads to the new master", func() bool {
				return rdb.Get(ctx, "old").Val() == "kept" && s.through(0).Get(ctx, "old").Val() == "kept"
			})
		},
		"cut-redis-replies": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "UNLINK", "count")
			s.under(CutRedisReplies(Nth(0)), func(ctx context.Context) {
				rdb := s.through(0)
				done := func() string { return s.redis(ctx, "GET", "count") }
				eventually(s.T, "an INCR is done whose answer is lost", func() bool {
					var last int64
					for { // until a pulse meets one
						n, err := rdb.Incr(ctx, "count").Result()
						if err != nil {
							return last > 0 && done() == strconv.FormatInt(last+1, 10)
						}
						last = n
					}
				})
			})
		},
		"slow-redis": func(s trial) {
			s.under(SlowRedis(allServers), func(ctx context.Context) {
				rdb := s.through(1)
				_ = rdb.Ping(ctx).Err()
				begin := time.Now()
				if err := rdb.Ping(ctx).Err(); err != nil || time.Since(begin) < 10*time.Millisecond {
					s.Errorf("an answer took %v, %v", time.Since(begin), err)
				}
			})
		},
		"hang-redis": func(s trial) {
			s.under(HangRedis(Nth(0)), func(ctx context.Context) {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if err := s.through(0).Ping(short).Err(); err == nil {
					s.Error("Redis answers")
				}
				if err := s.through(1).Ping(ctx).Err(); err != nil {
					s.Errorf("the other server's way: %v", err)
				}
			})
		},
		"cut-pg-replies": func(s trial) {
			ctx := s.Context()
			s.exec(ctx, `CREATE TABLE counts (n integer NOT NULL)`)
			s.exec(ctx, `INSERT INTO counts VALUES (0)`)
			done := func() (n int) {
				err := s.pg.with(func(db *sql.DB) error { return db.QueryRowContext(ctx, `SELECT n FROM counts`).Scan(&n) })
				if err != nil {
					s.Fatal(err)
				}
				return n
			}
			s.under(CutPGReplies(allServers), func(ctx context.Context) {
				eventually(s.T, "an UPDATE is done whose answer is lost", func() bool {
					db, err := sql.Open("postgres", databaseURL(s.toPG[0].listen))
					if err != nil {
						s.Fatal(err)
					}
					defer func() { _ = db.Close() }()
					db.SetMaxOpenConns(1)
					if db.PingContext(ctx) != nil {
						return false
					}
					before := done()
					for range 400 { // until a pulse meets one
						if _, err := db.ExecContext(ctx, `UPDATE counts SET n = n + 1`); err != nil {
							return done() == before+1
						}
						before++
					}
					return false
				})
			})
		},
		"slow-pg": func(s trial) {
			s.exec(s.Context(), `CREATE TABLE late (n integer NOT NULL)`)
			s.under(SlowPG(Nth(0), 2*time.Second, 2*time.Second), func(ctx context.Context) {
				// Whoever says it gives up, and it is done all the same.
				db, err := sql.Open("postgres", databaseURL(s.toPG[1].listen))
				if err != nil {
					s.Fatal(err)
				}
				defer func() { _ = db.Close() }()
				begin := time.Now()
				if _, err := db.ExecContext(ctx, `INSERT INTO late VALUES (1)`); err != nil || time.Since(begin) > 1900*time.Millisecond {
					s.Errorf("the other server's way took %v, %v", time.Since(begin), err)
				}
				slow, err := sql.Open("postgres", databaseURL(s.toPG[0].listen))
				if err != nil {
					s.Fatal(err)
				}
				defer func() { _ = slow.Close() }()
				begin = time.Now()
				if err := slow.PingContext(ctx); err != nil || time.Since(begin) < 2*time.Second {
					s.Errorf("it took %v, %v", time.Since(begin), err)
				}
			})
		},
		"poison-entry": func(s trial) {
			ctx := s.Context()
			parked := func() (n int64) {
				_ = s.withRedis(func(rdb redis.UniversalClient) error {
					keys, err := scan(ctx, rdb, "td:sale:{p*}:parked")
					for _, key := range keys {
						n += rdb.XLen(ctx, key).Val()
					}
					return err
				})
				return n
			}
			eventually(s.T, "partitions are certified", func() bool {
				var markers []string
				err := s.withRedis(func(rdb redis.UniversalClient) (err error) {
					markers, err = scan(ctx, rdb, "td:sale:{p*}:open")
					return err
				})
				return err == nil && len(markers) > 0
			})
			before := parked()
			s.under(PoisonEntry(), func(context.Context) {})
			eventually(s.T, "what cannot be read and what is refused is parked", func() bool { return parked() == before+2 })
		},
	}
	for _, f := range Faults() {
		test := tests[f.Name]
		if test == nil {
			t.Errorf("%s has no test", f.Name)
			continue
		}
		t.Run(f.Name, func(t *testing.T) { test(trial{t, w, rand.New(rand.NewPCG(seed, 0))}) }) //nolint:gosec // no secret
	}
}

// s is a test of a fault that takes a store away and gives it back, with what it held.
func s(f func() Fault, pg, rdb, forgets bool) func(s trial) {
	return func(s trial) {
		if f().LosesData && !forgets {
			s.Error("it forgets")
		}
		s.redis(s.Context(), "SET", "held", "before")
		s.exec(s.Context(), `CREATE TABLE IF NOT EXISTS held (n integer)`)
		s.exec(s.Context(), `INSERT INTO held VALUES (1)`)
		s.under(f(), func(ctx context.Context) {
			if gotPG, gotRedis := s.stores(ctx); gotPG != pg || gotRedis != rdb {
				s.Errorf("PostgreSQL answers: %v, Redis: %v", gotPG, gotRedis)
			}
			if f().Name == "kill-pg" { // one that is paused is waited for
				s.unreadable(ctx)
			}
		})
		if got := s.redis(s.Context(), "GET", "held"); got != "before" {
			s.Errorf("Redis holds %q", got)
		}
		s.exec(s.Context(), `INSERT INTO held VALUES (2)`)
	}
}

// unreadable sees that who asks for what only PostgreSQL knows is told to try again,
// and not that something is wrong here.
func (s trial) unreadable(ctx context.Context) {
	s.Helper()
	unknown := scalar.ID{Type: "Shop", N: 1 + s.r.Int64N(1<<40)}.String()
	answer, err := ask(ctx, s.URL(0), s.People()[0].Token, `{ shop(id: "`+unknown+`") { id } }`)
	if err != nil {
		s.Error(err)
	}
	if !strings.Contains(answer, `"UNAVAILABLE"`) {
		s.Errorf("a shop is asked for: %s", answer)
	}
}

func TestHealMendsEverythingAtOnce(t *testing.T) {
	w := aWorld(t, Options{People: 5})
	s := trial{t, w, rand.New(rand.NewPCG(1, 1))} //nolint:gosec // no secret
	for _, f := range []Fault{KillServer(Nth(0)), PauseServer(Nth(1)), PausePG(), KillRedis(), CutPGReplies(allServers), HangRedis(allServers)} {
		if _, err := s.begin(t.Context(), f, s.r); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	if _, ok := w.Healthy(); ok {
		t.Error("the world is healthy under six faults")
	}
	if err := w.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Healthy(); !ok {
		t.Error("a healed world is not healthy")
	}
	for i := range w.Servers() {
		if err := ready(t.Context(), w.URL(i)); err != nil {
			t.Errorf("after healing: %v", err)
		}
	}
	if pg, rdb := s.stores(t.Context()); !pg || !rdb {
		t.Errorf("after healing PostgreSQL answers: %v, Redis: %v", pg, rdb)
	}
}

func TestAProcessThatEndsByItselfIsNoticed(t *testing.T) {
	p := &Proc{Name: "a shell", args: []string{"sh", "-c", "echo said; exit 3"}, log: t.TempDir() + "/log", probe: func(context.Context) error { return nil }}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process ends", func() bool { return !p.Running() && len(p.Deaths()) == 1 })
	if death := p.Deaths()[0]; !strings.Contains(death, "a shell ended by itself: exit status 3") {
		t.Error(death)
	}
	p.probe = func(context.Context) error { return errors.New("not yet") }
	if err := p.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "said\nsaid") {
		t.Errorf("its log is not in the error: %v", err)
	}
}

func TestAFamilyIsKilledWithItsChildren(t *testing.T) {
	// The children are in sessions of their own, as PostgreSQL's backends are.
	p := &Proc{
		Name: "a family", hasChildren: true, log: t.TempDir() + "/log", probe: func(context.Context) error { return nil },
		args: []string{"sh", "-c", `for i in 1 2 3; do setsid sleep 100 & done; wait`},
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var children []int
	eventually(t, "there are three children", func() bool {
		all, err := p.children(p.cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		children = all
		return len(all) == 3
	})
	states := func() (all []string) {
		listed, err := processes()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range listed {
			for _, child := range children {
				if one.pid == child {
					all = append(all, one.state[:1])
				}
			}
		}
		return all
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all stand still", func() bool { return strings.Join(states(), "") == "TTT" })
	if err := p.Cont(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all go on", func() bool { return strings.Join(states(), "") == "SSS" })
	if err := errors.Join(p.Stop(t.Context()), p.Kill9()); err != nil {
		t.Fatal(err)
	}
	if left := strings.ReplaceAll(strings.Join(states(), ""), "Z", ""); left != "" {
		t.Errorf("after SIGKILL there are children in the states %s", left)
	}
}
