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

const eventuallyTimeout = 20 * time.Second

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(eventuallyTimeout); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", eventuallyTimeout, what)
		}
	}
}

// trial injects one fault at a time into a world.
type trial struct {
	*testing.T
	*World
	r *rand.Rand
}

// during injects a fault, runs inspect during it, and ends it. Then all servers must be
// ready.
func (s trial) during(f Fault, inspect func(ctx context.Context)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	active, err := s.begin(ctx, f, s.r)
	if err != nil {
		s.Fatal(err)
	}
	if _, ok := s.Healthy(); ok {
		s.Error("Healthy is true during a fault")
	}
	inspect(ctx)
	if err := s.finish(ctx, active); err != nil {
		s.Fatal(err)
	}
	if since, ok := s.Healthy(); !ok || time.Since(since) > time.Minute {
		s.Errorf("after a fault: healthy %v since %v", ok, since)
	}
	for i := range s.Servers() {
		eventually(s.T, "all are ready afterwards", func() bool { return ready(ctx, s.URL(i)) == nil })
	}
}

// answering reports whether a server answers within half a second.
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

// stores reports which stores answer within half a second.
func (s trial) stores(ctx context.Context) (pg, rdb bool) {
	pings := func(ping func(context.Context) error) bool {
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		return ping(short) == nil
	}
	return pings(s.pg.ping), pings(s.master().ping)
}

// through opens Redis through a server's proxy.
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
	var answer any
	err := s.withRedis(func(rdb redis.UniversalClient) (err error) {
		answer, err = rdb.Do(ctx, args...).Result()
		return err
	})
	if errors.Is(err, redis.Nil) {
		return ""
	}
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprint(answer)
}

func (s trial) exec(ctx context.Context, text string) {
	s.Helper()
	if err := s.pg.with(func(db *sql.DB) error { _, err := db.ExecContext(ctx, text); return err }); err != nil {
		s.Fatal(err)
	}
}

func TestEachFaultHasItsEffect(t *testing.T) {
	w := openTestWorld(t, Options{People: 5})
	seed := rand.Uint64() //nolint:gosec // no secret
	t.Logf("seed %d", seed)
	tests := map[string]func(s trial){
		"kill-server": func(s trial) {
			s.during(KillServer(Nth(1)), func(ctx context.Context) {
				if s.answering(ctx, 1) || !s.answering(ctx, 0) {
					s.Error("want an answer of the first server only")
				}
			})
		},
		"kill-both": func(s trial) {
			s.during(KillBoth(), func(ctx context.Context) {
				if s.answering(ctx, 0) || s.answering(ctx, 1) {
					s.Error("want no answer")
				}
			})
		},
		"pause-server": func(s trial) {
			pid := s.servers[0].cmd.Process.Pid
			s.during(PauseServer(Nth(0)), func(ctx context.Context) {
				if s.answering(ctx, 0) || !s.answering(ctx, 1) {
					s.Error("want an answer of the second server only")
				}
			})
			if now := s.servers[0].cmd.Process.Pid; now != pid {
				s.Errorf("got process %d afterwards, want %d", now, pid)
			}
		},
		"rolling-restart": func(s trial) {
			before := []int{s.servers[0].cmd.Process.Pid, s.servers[1].cmd.Process.Pid}
			s.during(RollingRestart(), func(context.Context) {})
			for i, pid := range before {
				if s.servers[i].cmd.Process.Pid == pid {
					s.Errorf("server %d did not restart", i)
				}
			}
		},
		"kill-redis":  storeFault(KillRedis, true, false, true),
		"pause-redis": storeFault(PauseRedis, true, false, true),
		"kill-pg":     storeFault(KillPG, false, true, false),
		"pause-pg":    storeFault(PausePG, false, true, false),
		"refuse-writes": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "SET", "held", "before")
			s.during(RefuseWrites(), func(ctx context.Context) {
				rdb := s.through(0)
				if err := rdb.Set(ctx, "held", "after", 0).Err(); !redis.HasErrorPrefix(err, "NOREPLICAS") {
					s.Errorf("write: got %v, want NOREPLICAS", err)
				}
				if got, err := rdb.Get(ctx, "held").Result(); err != nil || got != "before" {
					s.Errorf("read: got %q, %v, want \"before\"", got, err)
				}
			})
			s.redis(ctx, "SET", "held", "again")
		},
		"redis-power-cut": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "SET", "old", "kept")
			time.Sleep(2500 * time.Millisecond) // longer than a power cut loses
			s.redis(ctx, "SET", "new", "lost")
			s.during(RedisPowerCut(), func(context.Context) {})
			if old, young := s.redis(ctx, "GET", "old"), s.redis(ctx, "GET", "new"); old != "kept" || young != "" {
				s.Errorf("got old value %q and new value %q, want \"kept\" and \"\"", old, young)
			}
		},
		"redis-wipe": func(s trial) {
			s.redis(s.Context(), "SET", "key", "lost")
			s.during(RedisWipe(), func(context.Context) {})
			if got := s.redis(s.Context(), "GET", "key"); got != "" {
				s.Errorf("got %q, want \"\"", got)
			}
		},
		"evict-stock": func(s trial) {
			ctx := s.Context()
			_, err := s.begin(ctx, EvictStock(), s.r)
			if !errors.Is(err, ErrNothing) {
				s.Errorf("without a sale: got %v, want ErrNothing", err)
			}
			for _, key := range []string{"stock", "meta", "buyers:0"} {
				s.redis(ctx, "SET", "td:sale:{p3}:7:"+key, "1")
			}
			s.during(EvictStock(), func(context.Context) {})
			if n := s.redis(ctx, "EXISTS", "td:sale:{p3}:7:stock", "td:sale:{p3}:7:meta", "td:sale:{p3}:7:buyers:0"); n != "2" {
				s.Errorf("got %s keys, want 2", n)
			}
			s.redis(ctx, "UNLINK", "td:sale:{p3}:7:stock", "td:sale:{p3}:7:meta", "td:sale:{p3}:7:buyers:0")
		},
		"replica-failover": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "SET", "old", "kept")
			before := s.master()
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() { // writes until the first failure
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
			s.during(ReplicaFailover(), func(context.Context) {})
			close(stop)
			<-stopped
			if s.master() == before || before.Running() {
				s.Error("want another master, and the old one dead")
			}
			if got := s.redis(ctx, "GET", "old"); got != "kept" {
				s.Errorf("got old value %q, want \"kept\"", got)
			}
			url := s.RedisURL()
			rdb, err := openServersRedis(url)
			if err != nil {
				s.Fatal(err)
			}
			defer func() { _ = rdb.Close() }()
			eventually(s.T, "the address of Redis reaches the new master", func() bool {
				return rdb.Get(ctx, "old").Val() == "kept" && s.through(0).Get(ctx, "old").Val() == "kept"
			})
		},
		"cut-redis-replies": func(s trial) {
			ctx := s.Context()
			s.redis(ctx, "UNLINK", "count")
			s.during(CutRedisReplies(Nth(0)), func(ctx context.Context) {
				rdb := s.through(0)
				done := func() string { return s.redis(ctx, "GET", "count") }
				eventually(s.T, "an INCR succeeds without an answer", func() bool {
					var last int64
					for { // until a pulse drops an answer
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
			s.during(SlowRedis(allServers), func(ctx context.Context) {
				rdb := s.through(1)
				_ = rdb.Ping(ctx).Err()
				begin := time.Now()
				if err := rdb.Ping(ctx).Err(); err != nil || time.Since(begin) < 10*time.Millisecond {
					s.Errorf("got an answer after %v, %v, want a delay", time.Since(begin), err)
				}
			})
		},
		"hang-redis": func(s trial) {
			s.during(HangRedis(Nth(0)), func(ctx context.Context) {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if err := s.through(0).Ping(short).Err(); err == nil {
					s.Error("want no answer of Redis")
				}
				if err := s.through(1).Ping(ctx).Err(); err != nil {
					s.Errorf("other server's proxy: %v", err)
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
			s.during(CutPGReplies(allServers), func(ctx context.Context) {
				eventually(s.T, "an UPDATE succeeds without an answer", func() bool {
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
					for range 400 { // until a pulse drops an answer
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
			s.during(SlowPG(Nth(0), 2*time.Second, 2*time.Second), func(ctx context.Context) {
				// The other server's proxy stays fast.
				db, err := sql.Open("postgres", databaseURL(s.toPG[1].listen))
				if err != nil {
					s.Fatal(err)
				}
				defer func() { _ = db.Close() }()
				begin := time.Now()
				if _, err := db.ExecContext(ctx, `INSERT INTO late VALUES (1)`); err != nil || time.Since(begin) > 1900*time.Millisecond {
					s.Errorf("other server's proxy: got %v, %v", time.Since(begin), err)
				}
				slow, err := sql.Open("postgres", databaseURL(s.toPG[0].listen))
				if err != nil {
					s.Fatal(err)
				}
				defer func() { _ = slow.Close() }()
				begin = time.Now()
				if err := slow.PingContext(ctx); err != nil || time.Since(begin) < 2*time.Second {
					s.Errorf("got %v, %v, want at least 2 s", time.Since(begin), err)
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
			s.during(PoisonEntry(), func(context.Context) {})
			eventually(s.T, "unreadable and refused entries are parked", func() bool { return parked() == before+2 })
		},
	}
	for _, f := range Faults() {
		test := tests[f.Name]
		if test == nil {
			t.Errorf("no test for %s", f.Name)
			continue
		}
		t.Run(f.Name, func(t *testing.T) { test(trial{t, w, rand.New(rand.NewPCG(seed, 0))}) }) //nolint:gosec // no secret
	}
}

// storeFault returns a test of a fault that makes a store unavailable without data loss.
func storeFault(f func() Fault, pg, rdb, forgets bool) func(s trial) {
	return func(s trial) {
		if f().LosesData && !forgets {
			s.Error("the fault loses data")
		}
		s.redis(s.Context(), "SET", "held", "before")
		s.exec(s.Context(), `CREATE TABLE IF NOT EXISTS held (n integer)`)
		s.exec(s.Context(), `INSERT INTO held VALUES (1)`)
		s.during(f(), func(ctx context.Context) {
			if gotPG, gotRedis := s.stores(ctx); gotPG != pg || gotRedis != rdb {
				s.Errorf("got PostgreSQL %v and Redis %v, want %v and %v", gotPG, gotRedis, pg, rdb)
			}
			if f().Name == "kill-pg" { // queries of a suspended one wait
				s.checkUnavailable(ctx)
			}
		})
		if got := s.redis(s.Context(), "GET", "held"); got != "before" {
			s.Errorf("got %q in Redis, want \"before\"", got)
		}
		s.exec(s.Context(), `INSERT INTO held VALUES (2)`)
	}
}

// checkUnavailable checks that a read that needs PostgreSQL returns UNAVAILABLE, and not
// INTERNAL.
func (s trial) checkUnavailable(ctx context.Context) {
	s.Helper()
	unknown := scalar.ID{Type: "Shop", N: 1 + s.r.Int64N(1<<40)}.String()
	answer, err := query(ctx, s.URL(0), s.People()[0].Token, `{ shop(id: "`+unknown+`") { id } }`)
	if err != nil {
		s.Error(err)
	}
	if !strings.Contains(answer, `"UNAVAILABLE"`) {
		s.Errorf("got %s, want UNAVAILABLE", answer)
	}
}

func TestHealEndsAllFaults(t *testing.T) {
	w := openTestWorld(t, Options{People: 5})
	s := trial{t, w, rand.New(rand.NewPCG(1, 1))} //nolint:gosec // no secret
	for _, f := range []Fault{KillServer(Nth(0)), PauseServer(Nth(1)), PausePG(), KillRedis(), CutPGReplies(allServers), HangRedis(allServers)} {
		if _, err := s.begin(t.Context(), f, s.r); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	if _, ok := w.Healthy(); ok {
		t.Error("Healthy is true during six faults")
	}
	if err := w.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Healthy(); !ok {
		t.Error("Healthy is false after Heal")
	}
	for i := range w.Servers() {
		if err := ready(t.Context(), w.URL(i)); err != nil {
			t.Errorf("after Heal: %v", err)
		}
	}
	if pg, rdb := s.stores(t.Context()); !pg || !rdb {
		t.Errorf("after Heal: PostgreSQL answers %v, Redis %v", pg, rdb)
	}
}

func TestUnexpectedExitIsReported(t *testing.T) {
	p := &Proc{Name: "a shell", args: []string{"sh", "-c", "echo said; exit 3"}, log: t.TempDir() + "/log", probe: func(context.Context) error { return nil }}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process ends", func() bool { return !p.Running() && len(p.Deaths()) == 1 })
	if death := p.Deaths()[0]; !strings.Contains(death, "a shell exited unexpectedly: exit status 3") {
		t.Error(death)
	}
	p.probe = func(context.Context) error { return errors.New("not yet") }
	if err := p.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "said\nsaid") {
		t.Errorf("got error %v, want the log in it", err)
	}
}

func TestProcessIsKilledWithItsChildren(t *testing.T) {
	// The children are in sessions of their own, like PostgreSQL's backends.
	p := &Proc{
		Name: "a parent", hasChildren: true, log: t.TempDir() + "/log", probe: func(context.Context) error { return nil },
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
	eventually(t, "all are stopped", func() bool { return strings.Join(states(), "") == "TTT" })
	if err := p.Cont(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are running", func() bool { return strings.Join(states(), "") == "SSS" })
	if err := errors.Join(p.Stop(t.Context()), p.Kill9()); err != nil {
		t.Fatal(err)
	}
	if left := strings.ReplaceAll(strings.Join(states(), ""), "Z", ""); left != "" {
		t.Errorf("after SIGKILL: got children in states %s", left)
	}
}
