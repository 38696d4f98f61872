package faulttest

import (
	"math/rand/v2"
	"time"
)

// tooLate is a delay after which a statement arrives when its sender has given up
// (4 s), others have taken over what it had in hand (5 s), and orders that nobody knows
// were presumed lost (6 s).
const tooLate = 8500 * time.Millisecond

// A Pair makes cards of two faults at once: the first is under way when the second
// begins. A single fault finds few of the mistakes that need two: one store slow, and
// only for one server, while the other store forgets.
type Pair struct {
	Name string
	Make func(r *rand.Rand) PlannedFault
}

// Pairs are all kinds of pairs.
func Pairs() []Pair {
	two := func(first, second Fault, apart func(*rand.Rand) time.Duration) Pair {
		return Pair{first.Name + "+" + second.Name, func(r *rand.Rand) PlannedFault {
			return PlannedFault{Faults: []Fault{first, second}, Apart: apart(r), Seed: r.Uint64()}
		}}
	}
	// of two chooses a server, and another one.
	ofTwo := func(name string, choose func(one, other Target) (first, second Fault), apart func(*rand.Rand) time.Duration) Pair {
		return Pair{name, func(r *rand.Rand) PlannedFault {
			i := r.IntN(2)
			first, second := choose(Nth(i), Nth(i+1))
			return PlannedFault{Faults: []Fault{first, second}, Apart: apart(r), Seed: r.Uint64()}
		}}
	}
	early := between(300*time.Millisecond, 1500*time.Millisecond)
	return []Pair{
		two(late8(anyone), RedisPowerCut(), early),
		two(late8(anyone), RedisWipe(), early),
		two(PausePG(), RedisPowerCut(), early),
		two(KillPG(), RedisWipe(), between(0, 300*time.Millisecond)),
		two(CutRedisReplies(everyone), KillServer(anyone), early),
		two(CutPGReplies(everyone), RedisWipe(), early),
		two(PausePG(), KillBoth(), early),
		ofTwo("hang-redis+kill-server", func(one, other Target) (Fault, Fault) { return HangRedis(one), KillServer(other) }, early),
		ofTwo("slow-pg+kill-server", func(one, other Target) (Fault, Fault) { return late8(one), KillServer(other) }, early),
		ofTwo("pause-server+redis-power-cut", func(one, _ Target) (Fault, Fault) { return PauseServer(one), RedisPowerCut() }, early),
	}
}

// late8 has statements of a server arrive too late, for long enough that they arrive.
func late8(t Target) Fault {
	f := SlowPG(t, tooLate, tooLate)
	f.Lasts = between(9*time.Second, 11*time.Second)
	return f
}
