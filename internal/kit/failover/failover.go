package failover

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the script
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// ErrNoIncarnation is what [Detector.Incarnation] returns for a server that does not
// say which one it is: one inside the process, or behind a proxy.
var ErrNoIncarnation = errors.New("this Redis does not tell its run id and replication id")

// Loss says what a Redis may have lost.
type Loss struct {
	// Known: the data is at most Age behind what was written to the Redis before. If
	// it is false, nobody knows how far.
	Known bool
	Age   time.Duration
}

// DetectorOptions tunes a Watch. The zero value is a good setting, except that it
// shows no metrics and logs nothing.
type DetectorOptions struct {
	Key        string                // of the mark; default "td:incarnation"
	Interval   time.Duration         // between two looks; default 250 ms
	Role       string                // "state" or "cache": a label of the metrics
	Registerer prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log        *slog.Logger          // default slog.DiscardHandler
}

// Detector finds out when a Redis is another one than before: restarted, restored,
// failed over. Acknowledged writes may be missing then.
//
// An incarnation is the run id and the replication id of a server, of a cluster
// those of all its masters. A mark in the Redis says for which incarnation the
// processes have recovered, and when that was last known to be true: any of them
// renews it once a second. The mark comes back with the data, whatever they come
// back from, so the data tell their own age, also to a process that has just
// started: what was written before the mark was renewed is there. Its age is
// measured from the clock of the old server to that of the new one, and a second
// is added for their difference; where clocks differ by more, a loss may be told
// as too young by as much.
//
// A cluster has one mark, on one of its masters, and the data of another may be
// older, so its losses are never Known; a single master that is emptied by hand is
// not noticed, unless it had the mark. Neither is a mark that Redis evicted told
// from data that were lost. In both cases the loss is told as not Known.
type Detector struct {
	rdb   redis.UniversalClient
	key   string
	every time.Duration
	role  string
	log   *slog.Logger

	zero    time.Time
	settled atomic.Int64 // nanoseconds after zero; see SettledSince

	losses     *prometheus.CounterVec
	errors     *prometheus.CounterVec
	complaints clock.Throttle
}

const (
	renewAfter = time.Second
	skew       = time.Second // between the clocks of two servers
	markLife   = 30 * 24 * time.Hour
)

//go:embed lua/mark.lua
var markLua string

var markScript = redis.NewScript(markLua)

// NewDetector builds a Watch. It starts nothing, sends nothing and closes nothing:
// rdb belongs to the caller. It panics if the Registerer has these metrics for
// this role already.
func NewDetector(rdb redis.UniversalClient, o DetectorOptions) *Detector {
	labels := prometheus.Labels{"role": o.Role}
	w := &Detector{
		rdb:   rdb,
		zero:  time.Now(),
		key:   cmp.Or(o.Key, "td:incarnation"),
		every: cmp.Or(o.Interval, 250*time.Millisecond),
		role:  o.Role,
		log:   cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		losses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_losses_total", ConstLabels: labels,
			Help: "Times that this process recovered what a Redis may have lost, by whether the age of the data was known.",
		}, []string{"known"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_watch_errors_total", ConstLabels: labels,
			Help: "Failures to find out whether a Redis lost something, and to recover it.",
		}, []string{"doing"}),
	}
	for _, known := range []string{"true", "false"} {
		w.losses.WithLabelValues(known)
	}
	for _, doing := range []string{"look", "recover", "mark"} {
		w.errors.WithLabelValues(doing)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(w.losses, w.errors)
	}
	return w
}

// Incarnation returns which server this is: another text after each restart,
// and after each failover. It returns [ErrNoIncarnation] if the server does not
// say.
func (w *Detector) Incarnation(ctx context.Context) (string, error) {
	var is string
	err := w.session(ctx, func(ctx context.Context, s session) (err error) {
		is, err = s.incarnation(ctx)
		return err
	})
	return is, err
}

// A observation is what a process saw of a Redis.
type observation struct {
	incarnation string
	mark        string        // as it is written, "" if there is none
	certified   string        // the incarnation of the mark
	id          string        // of its certification
	age         time.Duration // of the mark
	written     bool          // there is a mark that can be read
}

// Run looks every WatchOptions.Every until ctx ends, and then returns nil.
//
// When the Redis is not the one that its mark names, or has no mark, repair is
// called with what may be missing, and then the new incarnation is certified.
// Several processes may recover at once, so it must be idempotent; after an error
// it is called again at the next look. changed is called in every process that
// saw the Redis before it was certified anew, by whichever process, after the
// recovery: what this process holds of it is to be forgotten. Both are given
// Run's context, and set their own deadlines.
//
// Where the Redis does not tell which one it is, that is logged once, and nothing
// is watched.
func (w *Detector) Run(ctx context.Context, repair func(ctx context.Context, l Loss) error, changed func(ctx context.Context)) error {
	known := "" // the certification that this process saw last
	for ctx.Err() == nil {
		began := time.Since(w.zero)
		doing, err := w.turn(ctx, &known, repair, changed)
		switch {
		case err == nil:
			w.settled.Store(int64(began))
		case errors.Is(err, ErrNoIncarnation):
			w.settled.Store(math.MaxInt64)
			w.log.InfoContext(ctx, "nobody watches whether this Redis loses writes", "role", w.role, "why", err)
			<-ctx.Done()
		case err != nil && ctx.Err() == nil:
			w.errors.WithLabelValues(doing).Inc()
			if w.complaints.Allow() {
				w.log.WarnContext(ctx, "the watch over Redis failed", "role", w.role, "doing", doing, "err", err)
			}
		}
		_ = clock.Sleep(ctx, w.every)
	}
	return nil
}

// RecoveredSince reports whether a look that began after the time found that
// everything this Redis may have lost is recovered. Where the Redis does not tell
// which one it is, that is always so.
func (w *Detector) RecoveredSince(at time.Time) bool {
	return time.Duration(w.settled.Load()) > at.Sub(w.zero)
}

// turn looks once and does what follows from it. With an error it says what
// failed.
func (w *Detector) turn(ctx context.Context, known *string, repair func(context.Context, Loss) error, changed func(context.Context)) (doing string, err error) {
	doing = "look"
	err = w.session(ctx, func(look context.Context, s session) error {
		saw, err := s.look(look)
		if err != nil {
			return err
		}
		id := saw.id
		if saw.incarnation != saw.certified {
			doing = "recover"
			if err := w.recover(ctx, saw, repair); err != nil {
				return err
			}
			doing, id = "mark", rand.Text()
			if err := s.write(ctx, saw, id); err != nil {
				return err
			}
		}
		if *known != "" && *known != id {
			changed(ctx)
		}
		*known = id
		if id == saw.id && (saw.age >= renewAfter || saw.age < 0) {
			doing = "mark"
			if err := s.write(ctx, saw, id); err != nil && !errors.Is(err, errMarked) {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errMarked) { // another process was faster: the next look sees it
		err = nil
	}
	return doing, err
}

// recover has the caller recover what may be missing.
func (w *Detector) recover(ctx context.Context, saw observation, do func(context.Context, Loss) error) error {
	var loss Loss
	if _, cluster := w.rdb.(*redis.ClusterClient); saw.written && !cluster {
		loss = Loss{Known: true, Age: max(saw.age, 0) + skew}
	}
	w.log.WarnContext(ctx, "this Redis may have lost writes", "role", w.role, "known", loss.Known, "age", loss.Age)
	if err := do(ctx, loss); err != nil {
		return fmt.Errorf("recover what the %s Redis may have lost: %w", w.role, err)
	}
	w.losses.WithLabelValues(strconv.FormatBool(loss.Known)).Inc()
	return nil
}

var errMarked = errors.New("the mark was written meanwhile")

// write certifies an incarnation, or renews its mark.
func (s session) write(ctx context.Context, saw observation, id string) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	done, err := markScript.Run(ctx, s.one, []string{s.key}, saw.mark, saw.incarnation+" "+id+" ", markLife.Milliseconds()).Int()
	switch {
	case err != nil:
		return fmt.Errorf("mark this Redis: %w", err)
	case done == 0:
		return errMarked
	}
	return nil
}

// look reads incarnation and mark.
func (s session) look(ctx context.Context) (observation, error) {
	is, err := s.incarnation(ctx)
	if err != nil {
		return observation{}, err
	}
	// One after the other: to a cluster a pipeline of two slots is two.
	mark, err := s.one.Get(ctx, s.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return observation{}, fmt.Errorf("read the mark of this Redis: %w", err)
	}
	saw := observation{incarnation: is, mark: mark}
	var ms int64
	if n, _ := fmt.Sscanf(mark, "%s %s %d", &saw.certified, &saw.id, &ms); n < 3 {
		return observation{incarnation: is, mark: mark}, nil // none, or none of ours
	}
	now, err := s.now(ctx)
	saw.age, saw.written = now.Sub(time.UnixMilli(ms)), true
	return saw, err
}
