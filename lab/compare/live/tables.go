package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/lab/livebench"
)

const (
	small      = 100    // bytes of a text: an item has 400
	large      = 6000   // of a text that fills the buffers of a socket that does not read
	fixedRate  = 10_000 // deliveries a second
	heavy      = 200    // follows of a user with many
	stallCrowd = 200    // other readers, next to one that does not read
	eachLook   = 50 * time.Millisecond
)

// inFlight returns the loads of the tables fanout and committed.
func inFlight() []int { return []int{1, 4, 16} }

// rounds runs all contenders in turns, in another order in each round.
func (l *lab) rounds(ctx context.Context, what string, do func(context.Context, *runningContender, int) error) error {
	for round := range l.Rounds {
		order := slices.Clone(l.contenders)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, c := range order {
			_, _ = fmt.Fprintf(l.Progress, "live: %s, round %d of %d: %s\n", what, round+1, l.Rounds, c.name)
			if err := l.turn(ctx, c, func(ctx context.Context, s *runningContender) error { return do(ctx, s, round) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// series holds figures by contender, one of each round.
type series[F any] map[string][]F

func (s series[F]) add(name string, f F) { s[name] = append(s[name], f) }

// loads measures some loads with n subscribers, each in every turn.
func (l *lab) loads(ctx context.Context, what string, n int, loads []livebench.Publishing) ([]series[Load], error) {
	all := make([]series[Load], len(loads))
	for i := range all {
		all[i] = series[Load]{}
	}
	err := l.rounds(ctx, fmt.Sprintf("%s, %d subscribers", what, n), func(ctx context.Context, s *runningContender, _ int) error {
		if err := s.connect(ctx, n, 1); err != nil {
			return err
		}
		for i, p := range loads {
			f, err := s.load(ctx, p)
			if err != nil {
				return err
			}
			all[i].add(s.name, f)
		}
		return nil
	})
	return all, err
}

// fanOut publishes at the maximum rate: the next item follows when few enough are in flight. what
// labels the progress output.
func (l *lab) fanOut(ctx context.Context, what string, n int) ([]series[Load], error) {
	var loads []livebench.Publishing
	for _, k := range inFlight() {
		loads = append(loads, livebench.Publishing{InFlight: k, For: l.Each, Content: small})
	}
	return l.loads(ctx, what, n, loads)
}

// paced measures a rate that all contenders can sustain.
func (l *lab) paced(ctx context.Context, n int) (series[Load], error) {
	all, err := l.loads(ctx, "fixed rate", n, []livebench.Publishing{{Every: time.Second * time.Duration(n) / fixedRate, For: l.Each, Content: small}})
	return all[0], err
}

// A Holding is the cost of an idle connection.
type Holding struct {
	RSS, Heap, Stacks float64 // bytes
	Goroutines        float64
}

// holding connects n subscribers without events; each has the given number of follows.
func (l *lab) holding(ctx context.Context, n int) (series[Holding], error) {
	all := series[Holding]{}
	err := l.rounds(ctx, fmt.Sprintf("memory, %d subscribers", n), func(ctx context.Context, s *runningContender, _ int) error {
		h, err := s.hold(ctx, n, 0)
		if err != nil {
			return err
		}
		all.add(s.name, h)
		return nil
	})
	if err != nil || l.contenders[0].name != oursName {
		return all, err
	}
	for range l.Rounds { // a server of its own, whose memory contains no other users
		err := l.turn(ctx, l.contenders[0], func(ctx context.Context, s *runningContender) error {
			h, err := s.hold(ctx, n, heavy)
			if err != nil {
				return err
			}
			all.add(heavyName, h)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// heavyName names Tandian with users of many follows.
var heavyName = fmt.Sprintf("%s, who follow %d", oursName, heavy) //nolint:gochecknoglobals // a constant that Go cannot say

// hold warms the server with a few connections, and then opens the others. The server knows their
// users before, so that cached users do not count as memory of connections.
func (s *runningContender) hold(ctx context.Context, n, follows int) (Holding, error) {
	users, err := s.people(ctx, n, follows)
	if err != nil {
		return Holding{}, err
	}
	if err := s.introduce(ctx, users); err != nil {
		return Holding{}, err
	}
	few := min(n/2, 50)
	if err := s.connect(ctx, few, follows); err != nil {
		return Holding{}, err
	}
	before, err := s.settled(ctx)
	if err != nil {
		return Holding{}, err
	}
	tokens, err := s.people(ctx, n, follows)
	if err != nil {
		return Holding{}, err
	}
	if tokens != nil {
		tokens = tokens[few:]
	}
	if _, err := s.ask(ctx, crowdQuestion{Connect: &connecting{Addr: s.addr, Protocol: s.protocol, Number: n - few, Tokens: tokens, First: s.next}}); err != nil {
		return Holding{}, err
	}
	after, err := s.settled(ctx)
	more := float64(n - few)
	return Holding{
		RSS: float64(after.RSS-before.RSS) / more, Heap: float64(after.Heap-before.Heap) / more, Stacks: float64(after.Stacks-before.Stacks) / more,
		Goroutines: float64(after.Goroutines-before.Goroutines) / more,
	}, err
}

// introduce queries the viewer as each user.
func (s *runningContender) introduce(ctx context.Context, tokens []string) error {
	for _, token := range tokens {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/graphql", strings.NewReader(`{"query":"{ me { id } }"}`))
		if err != nil {
			return fmt.Errorf("introduce a user: %w", err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return fmt.Errorf("introduce a user: %w", err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("introduce a user: status %d: %w", res.StatusCode, err)
		}
	}
	return nil
}

// settled returns the figures of an idle server: its work for the new connections is done, and the
// memory of that is released.
func (s *runningContender) settled(ctx context.Context) (least livebench.Answer, err error) {
	for i := range 4 {
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return least, err
		}
		a, err := askNode(ctx, s.server, livebench.Question{Settle: true})
		if err != nil {
			return least, err
		}
		if i == 0 || a.RSS < least.RSS {
			least = a
		}
	}
	return least, nil
}

// A Stall is the outcome of a socket that never reads.
type Stall struct {
	Gone      time.Duration // from the first item until the server had closed the connection
	Blocked   time.Duration // of that, with full kernel buffers
	Never     bool          // it was still open at the end
	Alone     time.Duration // p99 of the others before that
	Disturbed time.Duration // p99 of the others during that
}

// stalls measures one subscriber that reads nothing while others read.
func (l *lab) stalls(ctx context.Context) (series[Stall], error) {
	all := series[Stall]{}
	err := l.rounds(ctx, "a stalled client", func(ctx context.Context, s *runningContender, _ int) error {
		f, err := s.stall(ctx)
		if err != nil {
			return err
		}
		all.add(s.name, f)
		return nil
	})
	return all, err
}

func (s *runningContender) stall(ctx context.Context) (Stall, error) {
	tokens, err := s.people(ctx, stallCrowd+1, 1)
	if err != nil {
		return Stall{}, err
	}
	if err := s.connect(ctx, stallCrowd, 1); err != nil {
		return Stall{}, err
	}
	load := livebench.Publishing{InFlight: 4, For: s.Each, Content: large}
	alone, err := s.load(ctx, load)
	if err != nil {
		return Stall{}, err
	}
	if tokens != nil {
		tokens = tokens[stallCrowd:]
	}
	a, err := s.ask(ctx, crowdQuestion{Connect: &connecting{Addr: s.addr, Protocol: s.protocol, Number: 1, Tokens: tokens, First: s.next, Stalled: true}})
	if err != nil {
		return Stall{}, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	f := Stall{Alone: alone.P99, Never: true}
	ended := make(chan error, 1)
	begin := time.Now()
	go func() {
		w, err := watch(watching, s.addr, a.Ports[0])
		if err == nil {
			f.Never, f.Gone, f.Blocked = false, w.gone.Sub(begin), w.gone.Sub(w.full)
		}
		ended <- err
	}()
	load.For = time.Second
	for {
		if err := s.publish(ctx, load); err != nil {
			return Stall{}, err
		}
		select {
		case err = <-ended:
		default:
			if time.Since(begin) < s.Stall {
				continue
			}
			stop()
			<-ended // it found nothing
		}
		break
	}
	if err != nil {
		return Stall{}, err
	}
	a, err = s.ask(ctx, crowdQuestion{Reset: true})
	if err != nil {
		return Stall{}, err
	}
	during, err := loadOf(a, 0, 0)
	f.Disturbed = during.P99
	return f, err
}
