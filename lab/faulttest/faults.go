package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A Fault is one way to harm a world.
type Fault struct {
	Name string
	// Forgets says that Redis may lose what it was told. Orders that were told QUEUED
	// may then fail although pieces are left.
	Forgets bool
	// Begin harms the world, by choices of r. end mends that, and returns when what was
	// harmed does its work again; nil if there is nothing to mend. [ErrNothing] says that
	// there was nothing to harm.
	Begin func(ctx context.Context, w *World, r *rand.Rand) (end func(context.Context) error, err error)
	// Lasts is how long it is under way.
	Lasts func(r *rand.Rand) time.Duration
}

// ErrNothing says that a fault found nothing to harm.
var ErrNothing = errors.New("there was nothing to harm")

// Faults are all kinds of single faults, each with servers of its own choice.
func Faults() []Fault {
	return []Fault{
		KillServer(anyone), KillBoth(), PauseServer(anyone), RollingRestart(),
		KillRedis(), PauseRedis(), RefuseWrites(), RedisPowerCut(), RedisWipe(), EvictStock(), ReplicaFailover(),
		KillPG(), PausePG(),
		CutRedisReplies(someone), SlowRedis(someone), HangRedis(someone),
		CutPGReplies(someone), SlowPG(anyone, 300*time.Millisecond, 8500*time.Millisecond),
		PoisonEntry(),
	}
}

// FaultNamed is the kind of that name, and whether there is one; also of those that only
// worlds of several stores know.
func FaultNamed(name string) (Fault, bool) {
	all := append(Faults(), KillMaster(), PromoteStandby())
	if i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name }); i >= 0 {
		return all[i], true
	}
	return Fault{}, false
}

// A Target chooses servers.
type Target func(w *World, r *rand.Rand) []int

// anyone is one server.
func anyone(w *World, r *rand.Rand) []int { return []int{r.IntN(w.Servers())} }

// someone is one server or all.
func someone(w *World, r *rand.Rand) []int {
	if r.IntN(2) == 0 {
		return everyone(w, r)
	}
	return anyone(w, r)
}

// everyone is all servers.
func everyone(w *World, _ *rand.Rand) []int {
	all := make([]int, w.Servers())
	for i := range all {
		all[i] = i
	}
	return all
}

// Nth is the server of that number, counted round.
func Nth(i int) Target {
	return func(w *World, _ *rand.Rand) []int { return []int{i % w.Servers()} }
}

// between is a time from one to another, each as likely.
func between(low, high time.Duration) func(r *rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return low + time.Duration(r.Int64N(int64(high-low)+1)) }
}

func instant(*rand.Rand) time.Duration { return 0 }

// kill is a fault that ends processes at once.
func kill(procs func(w *World, r *rand.Rand) []*Proc) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	return func(_ context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		all := procs(w, r)
		end := func(ctx context.Context) error {
			return together(all, func(p *Proc) error { return p.Start(ctx) })
		}
		return end, together(all, (*Proc).Kill9)
	}
}

// pause is a fault that has processes stand still.
func pause(procs func(w *World, r *rand.Rand) []*Proc) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	return func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		all := procs(w, r)
		end := func(context.Context) error { return together(all, (*Proc).Cont) }
		return end, together(all, func(p *Proc) error { return p.Stop(ctx) })
	}
}

// together does something to all processes at once.
func together(all []*Proc, do func(p *Proc) error) error {
	failed := make([]error, len(all))
	var under sync.WaitGroup
	for i, p := range all {
		under.Go(func() { failed[i] = do(p) })
	}
	under.Wait()
	return errors.Join(failed...)
}

func (t Target) procs(w *World, r *rand.Rand) []*Proc {
	var all []*Proc
	for _, i := range t(w, r) {
		all = append(all, w.servers[i])
	}
	return all
}

func theRedis(w *World, _ *rand.Rand) []*Proc { return []*Proc{w.master().Proc} }

func thePG(w *World, _ *rand.Rand) []*Proc { return []*Proc{w.pg.Proc} }

// KillServer ends a server by SIGKILL and starts it again.
func KillServer(t Target) Fault {
	return Fault{Name: "kill-server", Begin: kill(t.procs), Lasts: between(200*time.Millisecond, 2*time.Second)}
}

// KillBoth ends all servers at once.
func KillBoth() Fault {
	return Fault{Name: "kill-both", Begin: kill(Target(everyone).procs), Lasts: between(100*time.Millisecond, 1500*time.Millisecond)}
}

// PauseServer has a server stand still, half the time for longer than the five
// seconds after which others take over what it has in hand.
func PauseServer(t Target) Fault {
	return Fault{Name: "pause-server", Begin: pause(t.procs), Lasts: func(r *rand.Rand) time.Duration {
		if r.IntN(2) == 0 {
			return between(3500*time.Millisecond, 5*time.Second)(r)
		}
		return between(5500*time.Millisecond, 7500*time.Millisecond)(r)
	}}
}

// RollingRestart asks the servers to end, and starts them again, one after the other.
func RollingRestart() Fault {
	return Fault{Name: "rolling-restart", Lasts: instant, Begin: func(ctx context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		for i, p := range w.servers {
			if err := errors.Join(p.Terminate(ctx), p.Start(ctx)); err != nil {
				return nil, fmt.Errorf("restart server %d: %w", i, err)
			}
		}
		return nil, nil
	}}
}

// Replace is RollingRestart with another program in the place of each server: an upgrade,
// or the way back.
func Replace(name, program string) Fault {
	return Fault{Name: name, Lasts: instant, Begin: func(ctx context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		for i, p := range w.servers {
			if err := p.Terminate(ctx); err != nil {
				return nil, fmt.Errorf("end server %d: %w", i, err)
			}
			p.args[0] = program
			if err := p.Start(ctx); err != nil {
				return nil, fmt.Errorf("start server %d with another program: %w", i, err)
			}
			if err := clock.Sleep(ctx, besideEachOther); err != nil {
				return nil, fmt.Errorf("stopped while servers were replaced: %w", err)
			}
		}
		w.o.Binary = program // compares the stores in the end
		return nil, nil
	}}
}

// besideEachOther is how long servers of two versions serve beside each other.
const besideEachOther = 3 * time.Second

// UpgradeCards put servers of one program in the place of those of an older one, then the
// older ones again, and then the newer, while clients buy. It takes UpgradeLasts.
func UpgradeCards(older, newer string) []PlannedFault {
	card := func(after time.Duration, name, program string) PlannedFault {
		return PlannedFault{After: after, Faults: []Fault{Replace(name, program)}}
	}
	return []PlannedFault{card(4*time.Second, "upgrade", newer), card(4*time.Second, "back", older), card(4*time.Second, "upgrade-again", newer)}
}

// UpgradeLasts is how long clients buy meanwhile.
const UpgradeLasts = time.Minute

// KillRedis ends Redis by SIGKILL and starts it again. What it told is in its file,
// unless the file was being flushed at that time: then it may lack two seconds.
func KillRedis() Fault {
	return Fault{Name: "kill-redis", Forgets: true, Begin: kill(theRedis), Lasts: between(100*time.Millisecond, 2*time.Second)}
}

// RedisReborn ends Redis by SIGKILL and starts another one in its place, which knows
// nothing. [Faults] does not have it: to the orders it is what [RedisWipe] is.
func RedisReborn() Fault {
	return Fault{Name: "redis-reborn", Forgets: true, Lasts: between(100*time.Millisecond, 2*time.Second), Begin: func(_ context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		node := w.master()
		return node.Start, errors.Join(node.Kill9(), node.empty())
	}}
}

// PauseRedis has Redis stand still.
func PauseRedis() Fault {
	return Fault{Name: "pause-redis", Begin: pause(theRedis), Lasts: between(300*time.Millisecond, 4*time.Second)}
}

// RefuseWrites makes Redis answer reads and refuse writes with NOREPLICAS.
func RefuseWrites() Fault {
	return Fault{Name: "refuse-writes", Lasts: between(time.Second, 5*time.Second), Begin: func(ctx context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		node := w.master()
		want := func(ctx context.Context, replicas string) error {
			return node.with(func(rdb redis.UniversalClient) error {
				return rdb.Do(ctx, "CONFIG", "SET", "min-replicas-to-write", replicas).Err()
			})
		}
		end := func(ctx context.Context) error { return want(ctx, "0") }
		return end, want(ctx, "100")
	}}
}

// RedisPowerCut ends Redis, and takes its file back to the size that it had one to
// two seconds earlier: what a disk holds of a file that is flushed every second.
func RedisPowerCut() Fault {
	return Fault{Name: "redis-power-cut", Forgets: true, Lasts: between(100*time.Millisecond, time.Second), Begin: func(_ context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		ago := between(time.Second, 2*time.Second)(r)
		node := w.master()
		if err := node.Kill9(); err != nil {
			return node.Start, err
		}
		_, err := node.cut(ago)
		return node.Start, err
	}}
}

// RedisWipe empties Redis.
func RedisWipe() Fault {
	return Fault{Name: "redis-wipe", Forgets: true, Lasts: instant, Begin: func(ctx context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		return nil, w.withRedis(func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "FLUSHALL").Err() })
	}}
}

// EvictStock removes one key of a recent sale: its stock or its meta.
func EvictStock() Fault { return evict("evict-stock", "stock", "meta") }

// evict is a fault that removes one of some keys of a recent sale.
func evict(name string, keys ...string) Fault {
	return Fault{Name: name, Forgets: true, Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		return nil, w.withRedis(func(rdb redis.UniversalClient) error {
			sales, err := recentSales(ctx, rdb)
			if err != nil || len(sales) == 0 {
				return errors.Join(err, nothingIf(len(sales) == 0 && err == nil))
			}
			return rdb.Unlink(ctx, pick(r, sales)+pick(r, keys)).Err()
		})
	}}
}

func nothingIf(nothing bool) error {
	if nothing {
		return ErrNothing
	}
	return nil
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// recentSales are the beginnings of the keys of the three newest vouchers that Redis
// has the stock of.
func recentSales(ctx context.Context, rdb redis.UniversalClient) ([]string, error) {
	const end = "stock"
	keys, err := scan(ctx, rdb, "*:sale:{p*}:*:"+end)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(keys, func(a, b string) int { return int(voucherOf(b) - voucherOf(a)) })
	var sales []string
	for _, key := range keys[:min(3, len(keys))] {
		sales = append(sales, strings.TrimSuffix(key, end))
	}
	return sales, nil
}

// voucherOf is the number in PREFIX:sale:{pN}:VOUCHER:stock.
func voucherOf(key string) int64 {
	fields := strings.Split(key, ":")
	n, _ := strconv.ParseInt(fields[len(fields)-2], 10, 64) // others' keys are 0
	return n
}

func scan(ctx context.Context, rdb redis.UniversalClient, pattern string) ([]string, error) {
	var keys []string
	walk := rdb.Scan(ctx, 0, pattern, 1000).Iterator()
	for walk.Next(ctx) {
		keys = append(keys, walk.Val())
	}
	if err := walk.Err(); err != nil {
		return nil, fmt.Errorf("look for %s: %w", pattern, err)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// KillPG ends PostgreSQL and all its backends by SIGKILL, and starts it again.
func KillPG() Fault {
	return Fault{Name: "kill-pg", Begin: kill(thePG), Lasts: between(100*time.Millisecond, 2*time.Second)}
}

// PausePG has PostgreSQL and all its backends stand still.
func PausePG() Fault {
	return Fault{Name: "pause-pg", Begin: pause(thePG), Lasts: between(time.Second, 6*time.Second)}
}

// harm is a fault of the ways of some servers to a store.
func harm(ways func(w *World) []*proxy, t Target, how func(r *rand.Rand) toxic) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	return func(_ context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		var removes []func(context.Context) error
		end := func(ctx context.Context) error {
			var failed []error
			for _, remove := range removes {
				failed = append(failed, remove(ctx))
			}
			return errors.Join(failed...)
		}
		what := how(r)
		for _, i := range t(w, r) {
			remove, err := ways(w)[i].add(what)
			if err != nil {
				return end, err
			}
			removes = append(removes, remove)
		}
		return end, nil
	}
}

func toRedis(w *World) []*proxy { return w.toRedis }

func toPG(w *World) []*proxy { return w.toPG }

// cutReplies has what is asked of a store done, and the answers lost, in pulses: a
// way that loses every answer soon carries nothing, for a connection begins with one.
func cutReplies(ways func(w *World) []*proxy, t Target) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	const on, off = 150 * time.Millisecond, 350 * time.Millisecond
	cut := func(*rand.Rand) toxic { return noAnswers() }
	return func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		servers := t(w, r)
		begin := harm(ways, func(*World, *rand.Rand) []int { return servers }, cut)
		pulsing, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var err error
		var pulses sync.WaitGroup
		pulses.Go(func() {
			for pulsing.Err() == nil && err == nil {
				var mend func(context.Context) error
				mend, err = begin(ctx, w, r)
				_ = clock.Sleep(pulsing, on) // the loop sees that it ended
				err = errors.Join(err, mend(ctx))
				_ = clock.Sleep(pulsing, off)
			}
		})
		return func(context.Context) error {
			cancel()
			pulses.Wait()
			return err
		}, nil
	}
}

// CutRedisReplies has Redis do what servers ask, and loses the answers.
func CutRedisReplies(t Target) Fault {
	return Fault{Name: "cut-redis-replies", Begin: cutReplies(toRedis, t), Lasts: between(500*time.Millisecond, 3*time.Second)}
}

// CutPGReplies has PostgreSQL do what servers ask, commits above all, and loses the
// answers.
func CutPGReplies(t Target) Fault {
	return Fault{Name: "cut-pg-replies", Begin: cutReplies(toPG, t), Lasts: between(500*time.Millisecond, 3*time.Second)}
}

// SlowRedis delays the answers of Redis, below and above the patience of servers.
func SlowRedis(t Target) Fault {
	return Fault{Name: "slow-redis", Lasts: between(time.Second, 4*time.Second), Begin: harm(toRedis, t, func(r *rand.Rand) toxic {
		return late(answers, between(20*time.Millisecond, 400*time.Millisecond)(r), 20*time.Millisecond)
	})}
}

// HangRedis lets nothing through to Redis, and ends no connection.
func HangRedis(t Target) Fault {
	return Fault{Name: "hang-redis", Lasts: between(500*time.Millisecond, 4*time.Second), Begin: harm(toRedis, t, func(*rand.Rand) toxic { return hang(commands) })}
}

// SlowPG delays what servers tell PostgreSQL, by a time between two: statements arrive
// when those who sent them have given up.
func SlowPG(t Target, low, high time.Duration) Fault {
	return Fault{
		Name: "slow-pg", Lasts: between(3*time.Second, 7*time.Second),
		Begin: harm(toPG, t, func(r *rand.Rand) toxic { return late(commands, between(low, high)(r), 0) }),
	}
}

// ReplicaFailover promotes a replica that is behind: for a moment it was told
// nothing, then the master died.
func ReplicaFailover() Fault {
	return Fault{Name: "replica-failover", Forgets: true, Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		return nil, w.failover(ctx, between(300*time.Millisecond, 1500*time.Millisecond)(r))
	}}
}

// PoisonEntry puts entries among the admitted orders of a partition that are none:
// one that cannot be read, one of a voucher that there is not, and one of a running
// sale that the database refuses together with all orders beside it, for PostgreSQL
// has no NUL in texts.
func PoisonEntry() Fault {
	return Fault{Name: "poison-entry", Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		return nil, w.withRedis(func(rdb redis.UniversalClient) error {
			markers, err := scan(ctx, rdb, "*:sale:{p*}:open")
			if err != nil || len(markers) == 0 {
				return errors.Join(err, nothingIf(len(markers) == 0 && err == nil))
			}
			sales, err := recentSales(ctx, rdb)
			if err != nil {
				return err
			}
			marker := pick(r, markers)
			voucher := int64(unknownVoucher)
			if len(sales) > 0 { // into the stream of a sale that runs, among its orders
				sale := pick(r, sales)
				marker, voucher = sale[:strings.Index(sale, "}:")+2]+"open", voucherOf(sale+"stock")
			}
			return poison(ctx, rdb, strings.TrimSuffix(marker, "open")+"orders", voucher, r)
		})
	}}
}

const (
	unknownVoucher = 1 << 40
	unknownUser    = 1 << 41
)

// poison adds such entries to a stream PREFIX:sale:{pN}:orders.
func poison(ctx context.Context, rdb redis.UniversalClient, stream string, voucher int64, r *rand.Rand) error {
	_, after, _ := strings.Cut(stream, "{p")
	partition, err := strconv.ParseInt(strings.SplitN(after, "}", 2)[0], 10, 64)
	if err != nil {
		return fmt.Errorf("poison %s: %w", stream, err)
	}
	// Numbers of the last second that there can be: no server makes them.
	number := func() int64 { return (1<<31-1)<<32 | r.Int64N(1<<26)<<6 | partition }
	now := time.Now().UnixMilli()
	if _, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, entry := range []map[string]any{
			{"v": "one", "u": "", "o": "1e3", "s": "-1", "t": "now"},
			{"v": unknownVoucher, "u": unknownUser, "o": number(), "s": 1, "p": 100, "t": now, "k": ""},
			{"v": voucher, "u": unknownUser, "o": number(), "s": 1, "p": 100, "t": now, "k": "\x00"},
		} {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: entry})
		}
		return nil
	}); err != nil {
		return fmt.Errorf("poison %s: %w", stream, err)
	}
	return nil
}
