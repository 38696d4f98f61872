package livetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/lab/faulttest"
)

const (
	deckPause   = 2 * time.Second        // minimum pause before a card
	deckMore    = 2 * time.Second        // maximum random addition
	namedPause  = 700 * time.Millisecond // before chosen faults
	namedLasts  = time.Second            // duration of chosen faults
	loseSome    = 50                     // messages per thousand
	loseAll     = 1000
	cutAgain    = 300 * time.Millisecond
	cutTimes    = 3
	killedRedis = "kill-redis"
	rebornRedis = "redis-reborn"
)

// restartsRedis reports whether a fault restarts Redis.
func restartsRedis(name string) bool { return name == killedRedis || name == rebornRedis }

// faults returns the faults of a random deck, the more important ones several times.
func (r *run) faults() []faulttest.Fault {
	one := faulttest.Target(func(w *faulttest.World, r *rand.Rand) []int { return []int{r.IntN(w.Servers())} })
	return []faulttest.Fault{
		faulttest.RedisReborn(), r.dropFault("lose-messages", loseSome), faulttest.KillServer(one), faulttest.RedisReborn(), r.cutFault(),
		faulttest.KillRedis(), r.dropFault("deaf", loseAll), faulttest.RollingRestart(), faulttest.RedisReborn(), r.stallFault(),
		faulttest.KillRedis(), faulttest.KillServer(one), faulttest.HangRedis(one), faulttest.CutRedisReplies(one), faulttest.RedisReborn(),
		faulttest.KillBoth(), faulttest.PauseServer(one), faulttest.RefuseWrites(),
	}
}

func (r *run) fault(name string) (faulttest.Fault, error) {
	all := append(r.faults(), faulttest.Faults()...)
	i := slices.IndexFunc(all, func(f faulttest.Fault) bool { return f.Name == name })
	if i < 0 {
		return faulttest.Fault{}, fmt.Errorf("unknown fault %q", name)
	}
	return all[i], nil
}

func between(low, high time.Duration) func(r *rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return low + time.Duration(r.Int64N(int64(high-low)+1)) }
}

// end ends a fault.
type end = func(context.Context) error

// dropFault returns a fault that drops some messages per thousand.
func (r *run) dropFault(name string, perMille int64) faulttest.Fault {
	return faulttest.Fault{Name: name, Lasts: between(time.Second, 4*time.Second), Begin: func(context.Context, *faulttest.World, *rand.Rand) (end, error) {
		r.proxy.lossPerMille.Store(perMille)
		return func(context.Context) error { r.proxy.lossPerMille.Store(0); return nil }, nil
	}}
}

// cutFault returns a fault that ends the connections of subscribers, repeatedly.
func (r *run) cutFault() faulttest.Fault {
	return faulttest.Fault{Name: "cut-subscribers", Lasts: func(*rand.Rand) time.Duration { return cutTimes * cutAgain }, Begin: func(context.Context, *faulttest.World, *rand.Rand) (end, error) {
		r.proxy.cut()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			tick := time.NewTicker(cutAgain)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					r.proxy.cut()
				case <-stop:
					return
				}
			}
		}()
		return func(context.Context) error { close(stop); <-stopped; return nil }, nil
	}}
}

// stallFault returns a fault that delays messages and then releases them all.
func (r *run) stallFault() faulttest.Fault {
	return faulttest.Fault{Name: "stall-subscribers", Lasts: between(500*time.Millisecond, 3*time.Second), Begin: func(context.Context, *faulttest.World, *rand.Rand) (end, error) {
		r.proxy.pause()
		return func(context.Context) error { r.proxy.resume(); return nil }, nil
	}}
}

// deck returns a function that draws the next card: the cards of the config in turn, or random
// ones, each once before any repeats.
func (r *run) deck(choices *rand.Rand) (func() (faulttest.PlannedFault, error), error) {
	card := func(faults []faulttest.Fault) faulttest.PlannedFault {
		return faulttest.PlannedFault{After: between(deckPause, deckPause+deckMore)(choices), Faults: faults, Seed: choices.Uint64()}
	}
	if r.Deck != nil {
		for _, names := range r.Deck { // report unknown names early
			for _, name := range names {
				if _, err := r.fault(name); err != nil {
					return nil, err
				}
			}
		}
		next := 0
		return func() (faulttest.PlannedFault, error) {
			var all []faulttest.Fault
			for _, name := range r.Deck[next%len(r.Deck)] {
				f, err := r.fault(name)
				if err != nil {
					return faulttest.PlannedFault{}, err
				}
				all = append(all, f)
			}
			next++
			c := card(all)
			c.After, c.Lasts = namedPause, namedLasts
			return c, nil
		}, nil
	}
	kinds := r.faults()
	var order []int
	return func() (faulttest.PlannedFault, error) {
		if len(order) == 0 {
			order = choices.Perm(len(kinds))
		}
		f := kinds[order[0]]
		order = order[1:]
		return card([]faulttest.Fault{f}), nil
	}, nil
}
