package faulttest

import (
	"math/rand/v2"
	"time"
)

// tooLate is a delay past all timeouts. When a statement arrives, its sender has given up (4 s),
// another server has taken over its entries (5 s), and unknown orders are presumed lost (6 s).
const tooLate = 8500 * time.Millisecond

// Pair makes cards of two overlapping faults: the first is active when the second begins.
// Single faults rarely find mistakes that need two, such as a store that is slow for one
// server while the other store loses data.
type Pair struct {
	Name string
	Make func(r *rand.Rand) PlannedFault
}

// Pairs returns all kinds of pairs.
func Pairs() []Pair {
	two := func(first, second Fault, apart func(*rand.Rand) time.Duration) Pair {
		return Pair{first.Name + "+" + second.Name, func(r *rand.Rand) PlannedFault {
			return PlannedFault{Faults: []Fault{first, second}, Stagger: apart(r), Seed: r.Uint64()}
		}}
	}
	// ofTwo chooses one server and another one.
	ofTwo := func(name string, choose func(one, other Target) (first, second Fault), apart func(*rand.Rand) time.Duration) Pair {
		return Pair{name, func(r *rand.Rand) PlannedFault {
			i := r.IntN(2)
			first, second := choose(Nth(i), Nth(i+1))
			return PlannedFault{Faults: []Fault{first, second}, Stagger: apart(r), Seed: r.Uint64()}
		}}
	}
	early := between(300*time.Millisecond, 1500*time.Millisecond)
	return []Pair{
		two(slowPGTooLate(oneServer), RedisPowerCut(), early),
		two(slowPGTooLate(oneServer), RedisWipe(), early),
		two(PausePG(), RedisPowerCut(), early),
		two(KillPG(), RedisWipe(), between(0, 300*time.Millisecond)),
		two(CutRedisReplies(allServers), KillServer(oneServer), early),
		two(CutPGReplies(allServers), RedisWipe(), early),
		two(PausePG(), KillBoth(), early),
		ofTwo("hang-redis+kill-server", func(one, other Target) (Fault, Fault) { return HangRedis(one), KillServer(other) }, early),
		ofTwo("slow-pg+kill-server", func(one, other Target) (Fault, Fault) { return slowPGTooLate(one), KillServer(other) }, early),
		ofTwo("pause-server+redis-power-cut", func(one, _ Target) (Fault, Fault) { return PauseServer(one), RedisPowerCut() }, early),
	}
}

// slowPGTooLate delays a server's statements past all timeouts, and lasts until they arrive.
func slowPGTooLate(t Target) Fault {
	f := SlowPG(t, tooLate, tooLate)
	f.Lasts = between(9*time.Second, 11*time.Second)
	return f
}
