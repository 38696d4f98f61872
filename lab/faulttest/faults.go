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

// Fault is one kind of fault in a world.
type Fault struct {
	Name string
	// LosesData reports that Redis may lose acknowledged writes. Orders reported QUEUED may
	// then fail although units are left.
	LosesData bool
	// Begin injects the fault, by choices of r. end removes it and returns when the affected
	// processes work again; nil means nothing to remove. [ErrNothing] means that the fault
	// found no target.
	Begin func(ctx context.Context, w *World, r *rand.Rand) (end func(context.Context) error, err error)
	// Lasts returns the duration of the fault.
	Lasts func(r *rand.Rand) time.Duration
}

// ErrNothing is returned by a fault that has no target.
var ErrNothing = errors.New("no target for the fault")

// Faults returns all kinds of single faults with random servers.
func Faults() []Fault {
	return []Fault{
		KillServer(oneServer), KillBoth(), PauseServer(oneServer), RollingRestart(),
		KillRedis(), PauseRedis(), RefuseWrites(), RedisPowerCut(), RedisWipe(), EvictStock(), ReplicaFailover(),
		KillPG(), PausePG(),
		CutRedisReplies(oneOrAllServers), SlowRedis(oneOrAllServers), HangRedis(oneOrAllServers),
		CutPGReplies(oneOrAllServers), SlowPG(oneServer, 300*time.Millisecond, 8500*time.Millisecond),
		PoisonEntry(),
	}
}

// FaultNamed returns the fault with a name. It also knows the faults of replicated stores; ok
// is false for other names.
func FaultNamed(name string) (f Fault, ok bool) {
	all := append(Faults(), KillMaster(), PromoteStandby())
	if i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name }); i >= 0 {
		return all[i], true
	}
	return Fault{}, false
}

// Target chooses servers.
type Target func(w *World, r *rand.Rand) []int

// oneServer chooses a random server.
func oneServer(w *World, r *rand.Rand) []int { return []int{r.IntN(w.Servers())} }

// oneOrAllServers chooses a random server or all servers.
func oneOrAllServers(w *World, r *rand.Rand) []int {
	if r.IntN(2) == 0 {
		return allServers(w, r)
	}
	return oneServer(w, r)
}

// allServers chooses all servers.
func allServers(w *World, _ *rand.Rand) []int {
	all := make([]int, w.Servers())
	for i := range all {
		all[i] = i
	}
	return all
}

// Nth chooses a server by its index, modulo the number of servers.
func Nth(i int) Target {
	return func(w *World, _ *rand.Rand) []int { return []int{i % w.Servers()} }
}

// between returns a uniform random duration between two limits.
func between(low, high time.Duration) func(r *rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return low + time.Duration(r.Int64N(int64(high-low)+1)) }
}

func instant(*rand.Rand) time.Duration { return 0 }

// kill returns a fault that kills processes.
func kill(procs func(w *World, r *rand.Rand) []*Proc) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	return func(_ context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		all := procs(w, r)
		end := func(ctx context.Context) error {
			return together(all, func(p *Proc) error { return p.Start(ctx) })
		}
		return end, together(all, (*Proc).Kill9)
	}
}

// pause returns a fault that suspends processes.
func pause(procs func(w *World, r *rand.Rand) []*Proc) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	return func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		all := procs(w, r)
		end := func(context.Context) error { return together(all, (*Proc).Cont) }
		return end, together(all, func(p *Proc) error { return p.Stop(ctx) })
	}
}

// together runs do for all processes in parallel.
func together(all []*Proc, do func(p *Proc) error) error {
	failed := make([]error, len(all))
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() { failed[i] = do(p) })
	}
	running.Wait()
	return errors.Join(failed...)
}

func (t Target) procs(w *World, r *rand.Rand) []*Proc {
	var all []*Proc
	for _, i := range t(w, r) {
		all = append(all, w.servers[i])
	}
	return all
}

func redisProc(w *World, _ *rand.Rand) []*Proc { return []*Proc{w.master().Proc} }

func pgProc(w *World, _ *rand.Rand) []*Proc { return []*Proc{w.pg.Proc} }

// KillServer kills a server by SIGKILL and restarts it.
func KillServer(t Target) Fault {
	return Fault{Name: "kill-server", Begin: kill(t.procs), Lasts: between(200*time.Millisecond, 2*time.Second)}
}

// KillBoth kills all servers at once.
func KillBoth() Fault {
	return Fault{Name: "kill-both", Begin: kill(Target(allServers).procs), Lasts: between(100*time.Millisecond, 1500*time.Millisecond)}
}

// PauseServer suspends a server. Half of the time it lasts longer than five seconds, after
// which other servers take over its entries.
func PauseServer(t Target) Fault {
	return Fault{Name: "pause-server", Begin: pause(t.procs), Lasts: func(r *rand.Rand) time.Duration {
		if r.IntN(2) == 0 {
			return between(3500*time.Millisecond, 5*time.Second)(r)
		}
		return between(5500*time.Millisecond, 7500*time.Millisecond)(r)
	}}
}

// RollingRestart stops and restarts the servers one after the other.
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

// Replace is a [RollingRestart] with another program. It pauses after each server.
func Replace(name, program string) Fault {
	return Fault{Name: name, Lasts: instant, Begin: func(ctx context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		for i, p := range w.servers {
			if err := p.Terminate(ctx); err != nil {
				return nil, fmt.Errorf("stop server %d: %w", i, err)
			}
			p.args[0] = program
			if err := p.Start(ctx); err != nil {
				return nil, fmt.Errorf("start server %d with new program: %w", i, err)
			}
			if err := clock.Sleep(ctx, mixedVersionsFor); err != nil {
				return nil, fmt.Errorf("replace servers: %w", err)
			}
		}
		w.o.Binary = program // it compares the stores in the end
		return nil, nil
	}}
}

// mixedVersionsFor is how long servers of two versions run in parallel.
const mixedVersionsFor = 3 * time.Second

// UpgradeCards replaces the servers by a newer program, then by the older one, and then by
// the newer one again. Use them in a run of [UpgradeLasts].
func UpgradeCards(older, newer string) []PlannedFault {
	card := func(after time.Duration, name, program string) PlannedFault {
		return PlannedFault{After: after, Faults: []Fault{Replace(name, program)}}
	}
	return []PlannedFault{card(4*time.Second, "upgrade", newer), card(4*time.Second, "back", older), card(4*time.Second, "upgrade-again", newer)}
}

// UpgradeLasts is the duration of the load during an upgrade.
const UpgradeLasts = time.Minute

// KillRedis kills Redis by SIGKILL and restarts it. Acknowledged writes are in its file,
// except up to two seconds of them if a flush was in progress.
func KillRedis() Fault {
	return Fault{Name: "kill-redis", LosesData: true, Begin: kill(redisProc), Lasts: between(100*time.Millisecond, 2*time.Second)}
}

// RedisReborn kills Redis by SIGKILL and starts an empty one. [Faults] omits it: for orders
// it equals [RedisWipe].
func RedisReborn() Fault {
	return Fault{Name: "redis-reborn", LosesData: true, Lasts: between(100*time.Millisecond, 2*time.Second), Begin: func(_ context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		node := w.master()
		return node.Start, errors.Join(node.Kill9(), node.empty())
	}}
}

// PauseRedis suspends Redis.
func PauseRedis() Fault {
	return Fault{Name: "pause-redis", Begin: pause(redisProc), Lasts: between(300*time.Millisecond, 4*time.Second)}
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

// RedisPowerCut kills Redis and truncates its file to its size one to two seconds earlier, as
// after a power cut with a flush every second.
func RedisPowerCut() Fault {
	return Fault{Name: "redis-power-cut", LosesData: true, Lasts: between(100*time.Millisecond, time.Second), Begin: func(_ context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		ago := between(time.Second, 2*time.Second)(r)
		node := w.master()
		if err := node.Kill9(); err != nil {
			return node.Start, err
		}
		_, err := node.truncate(ago)
		return node.Start, err
	}}
}

// RedisWipe empties Redis.
func RedisWipe() Fault {
	return Fault{Name: "redis-wipe", LosesData: true, Lasts: instant, Begin: func(ctx context.Context, w *World, _ *rand.Rand) (func(context.Context) error, error) {
		return nil, w.withRedis(func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "FLUSHALL").Err() })
	}}
}

// EvictStock removes one key of a recent sale: its stock or its meta.
func EvictStock() Fault { return evict("evict-stock", "stock", "meta") }

// evict returns a fault that removes one of some keys of a recent sale.
func evict(name string, keys ...string) Fault {
	return Fault{Name: name, LosesData: true, Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
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

// recentSales returns the key prefixes of the three newest vouchers with stock in Redis.
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

// voucherOf returns the number in PREFIX:sale:{pN}:VOUCHER:stock.
func voucherOf(key string) int64 {
	fields := strings.Split(key, ":")
	n, _ := strconv.ParseInt(fields[len(fields)-2], 10, 64) // other keys give 0
	return n
}

func scan(ctx context.Context, rdb redis.UniversalClient, pattern string) ([]string, error) {
	var keys []string
	walk := rdb.Scan(ctx, 0, pattern, 1000).Iterator()
	for walk.Next(ctx) {
		keys = append(keys, walk.Val())
	}
	if err := walk.Err(); err != nil {
		return nil, fmt.Errorf("scan %s: %w", pattern, err)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// KillPG kills PostgreSQL and all its backends by SIGKILL, and restarts it.
func KillPG() Fault {
	return Fault{Name: "kill-pg", Begin: kill(pgProc), Lasts: between(100*time.Millisecond, 2*time.Second)}
}

// PausePG suspends PostgreSQL and all its backends.
func PausePG() Fault {
	return Fault{Name: "pause-pg", Begin: pause(pgProc), Lasts: between(time.Second, 6*time.Second)}
}

// onProxies returns a fault that adds a toxic to the proxies of some servers.
func onProxies(proxies func(w *World) []*proxy, t Target, how func(r *rand.Rand) toxic) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
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
			remove, err := proxies(w)[i].add(what)
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

// cutReplies executes commands and drops their replies, in pulses. A proxy that drops every
// reply would soon carry no commands, because each connection starts with a reply.
func cutReplies(proxies func(w *World) []*proxy, t Target) func(context.Context, *World, *rand.Rand) (func(context.Context) error, error) {
	const on, off = 150 * time.Millisecond, 350 * time.Millisecond
	cut := func(*rand.Rand) toxic { return dropReplies() }
	return func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		servers := t(w, r)
		begin := onProxies(proxies, func(*World, *rand.Rand) []int { return servers }, cut)
		pulsing, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var err error
		var pulses sync.WaitGroup
		pulses.Go(func() {
			for pulsing.Err() == nil && err == nil {
				var restore func(context.Context) error
				restore, err = begin(ctx, w, r)
				_ = clock.Sleep(pulsing, on) // the loop checks pulsing
				err = errors.Join(err, restore(ctx))
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

// CutRedisReplies executes Redis commands and drops their replies.
func CutRedisReplies(t Target) Fault {
	return Fault{Name: "cut-redis-replies", Begin: cutReplies(toRedis, t), Lasts: between(500*time.Millisecond, 3*time.Second)}
}

// CutPGReplies executes PostgreSQL statements, including commits, and drops their replies.
func CutPGReplies(t Target) Fault {
	return Fault{Name: "cut-pg-replies", Begin: cutReplies(toPG, t), Lasts: between(500*time.Millisecond, 3*time.Second)}
}

// SlowRedis delays the replies of Redis, below and above the servers' timeouts.
func SlowRedis(t Target) Fault {
	return Fault{Name: "slow-redis", Lasts: between(time.Second, 4*time.Second), Begin: onProxies(toRedis, t, func(r *rand.Rand) toxic {
		return delay(replies, between(20*time.Millisecond, 400*time.Millisecond)(r), 20*time.Millisecond)
	})}
}

// HangRedis blocks all commands to Redis and ends no connection.
func HangRedis(t Target) Fault {
	return Fault{Name: "hang-redis", Lasts: between(500*time.Millisecond, 4*time.Second), Begin: onProxies(toRedis, t, func(*rand.Rand) toxic { return hang(commands) })}
}

// SlowPG delays statements to PostgreSQL by a time between two limits: they arrive after
// their senders have given up.
func SlowPG(t Target, low, high time.Duration) Fault {
	return Fault{
		Name: "slow-pg", Lasts: between(3*time.Second, 7*time.Second),
		Begin: onProxies(toPG, t, func(r *rand.Rand) toxic { return delay(commands, between(low, high)(r), 0) }),
	}
}

// ReplicaFailover promotes a replica that is behind: it stops receiving data, then the master
// dies.
func ReplicaFailover() Fault {
	return Fault{Name: "replica-failover", LosesData: true, Lasts: instant, Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		return nil, w.failover(ctx, between(300*time.Millisecond, 1500*time.Millisecond)(r))
	}}
}

// PoisonEntry adds three invalid entries to the admitted orders of a partition. One is
// unreadable, and one names an unknown voucher. The database refuses the third with its whole
// batch, because PostgreSQL allows no NUL in texts; it names a running sale if there is one.
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
			if len(sales) > 0 { // into the stream of a running sale, among its orders
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

// poison adds invalid entries to a stream PREFIX:sale:{pN}:orders.
func poison(ctx context.Context, rdb redis.UniversalClient, stream string, voucher int64, r *rand.Rand) error {
	_, after, _ := strings.Cut(stream, "{p")
	partition, err := strconv.ParseInt(strings.SplitN(after, "}", 2)[0], 10, 64)
	if err != nil {
		return fmt.Errorf("poison %s: %w", stream, err)
	}
	// No server makes numbers of the last possible second.
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
