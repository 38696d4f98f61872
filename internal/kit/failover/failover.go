// Package failover detects that a Redis was restarted, restored or failed over, and that
// acknowledged writes may be missing.
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

// ErrNoIncarnation means that a Redis server does not report its run id and replication
// id, for example because it is embedded or behind a proxy.
var ErrNoIncarnation = errors.New("read incarnation of Redis: no run id and replication id")

// Loss describes the possible data loss of a Redis.
type Loss struct {
	// Known means that all lost writes are at most Age old. Otherwise their age is unknown.
	Known bool
	Age   time.Duration
}

// DetectorOptions tunes a Detector. The zero value is a good setting, without metrics and log.
type DetectorOptions struct {
	Key        string                // of the mark; default "td:incarnation"
	Interval   time.Duration         // between two checks; default 250 ms
	Role       string                // "state" or "cache": a label of the metrics
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log
}

// Detector detects that a Redis was restarted, restored or failed over. Acknowledged writes may
// be missing then.
//
// An incarnation is the run id and the replication id of a server, or of all masters of a
// cluster. A mark in Redis stores the incarnation for which the processes have recovered, and
// the time of its last confirmation. Any process renews it once a second. Restored data contains
// its mark: all writes before that renewal are there. So any process, even a new one, can read
// the age of the data. It is measured from the clock of the old server to that of the new one,
// plus a second for their difference. If clocks differ by more, it may be too small by the rest.
//
// A cluster has one mark, on one of its masters. Data of other masters may be older, so losses
// of a cluster are never Known. If a single master is emptied by hand, the Detector notices only
// if that master had the mark. An evicted mark counts as a loss that is not Known.
type Detector struct {
	rdb      redis.UniversalClient
	key      string
	interval time.Duration
	role     string
	log      *slog.Logger

	start     time.Time
	recovered atomic.Int64 // nanoseconds after start; see RecoveredSince

	losses   *prometheus.CounterVec
	errors   *prometheus.CounterVec
	warnings clock.Throttle
}

const (
	renewAfter = time.Second
	clockSkew  = time.Second // between the clocks of two servers
	markLife   = 30 * 24 * time.Hour
)

//go:embed lua/mark.lua
var markLua string

var markScript = redis.NewScript(markLua)

// NewDetector returns a Detector. It starts nothing, sends nothing and closes nothing: rdb
// belongs to the caller. It panics if the Registerer has these metrics for this role already.
func NewDetector(rdb redis.UniversalClient, o DetectorOptions) *Detector {
	labels := prometheus.Labels{"role": o.Role}
	w := &Detector{
		rdb:      rdb,
		start:    time.Now(),
		key:      cmp.Or(o.Key, "td:incarnation"),
		interval: cmp.Or(o.Interval, 250*time.Millisecond),
		role:     o.Role,
		log:      cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		losses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_losses_total", ConstLabels: labels,
			Help: "Recoveries by this process after possible losses, by whether the age of the data was known.",
		}, []string{"known"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_watch_errors_total", ConstLabels: labels,
			Help: "Failures to detect a loss or to recover from it.",
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

// Incarnation returns the incarnation of the server. It changes with each restart and
// each failover. It returns [ErrNoIncarnation] if the server does not report it.
func (w *Detector) Incarnation(ctx context.Context) (string, error) {
	var id string
	err := w.session(ctx, func(ctx context.Context, s session) (err error) {
		id, err = s.incarnation(ctx)
		return err
	})
	return id, err
}

// An observation is the state of a Redis as read by one check.
type observation struct {
	incarnation string
	mark        string        // raw value, "" if there is none
	certified   string        // the incarnation in the mark
	id          string        // of its certification
	age         time.Duration // of the mark
	written     bool          // there is a valid mark
}

// Run checks the Redis every DetectorOptions.Interval until ctx ends, and then returns nil.
//
// If the mark names another incarnation, or is missing, Run calls repair with the possible loss,
// and then certifies the new incarnation. Several processes may repair at once, so repair must
// be idempotent; after an error it is called again at the next check. After the repair, by
// whichever process, changed is called in every process that saw an earlier certification. It
// must drop the data that this process cached from the Redis. Both get Run's context, and set their
// own deadlines.
//
// If the Redis does not report its incarnation, Run logs that once and waits for ctx.
func (w *Detector) Run(ctx context.Context, repair func(ctx context.Context, l Loss) error, changed func(ctx context.Context)) error {
	known := "" // the certification that this process saw last
	for ctx.Err() == nil {
		began := time.Since(w.start)
		doing, err := w.check(ctx, &known, repair, changed)
		switch {
		case err == nil:
			w.recovered.Store(int64(began))
		case errors.Is(err, ErrNoIncarnation):
			w.recovered.Store(math.MaxInt64)
			w.log.InfoContext(ctx, "Redis failover detection is unavailable", "role", w.role, "why", err)
			<-ctx.Done()
		case err != nil && ctx.Err() == nil:
			w.errors.WithLabelValues(doing).Inc()
			if w.warnings.Allow() {
				w.log.WarnContext(ctx, "Redis failover detection failed", "role", w.role, "doing", doing, "err", err)
			}
		}
		_ = clock.Sleep(ctx, w.interval)
	}
	return nil
}

// RecoveredSince reports whether a check that began after at found the Redis recovered
// from all losses. It is always true if the Redis does not report its incarnation.
func (w *Detector) RecoveredSince(at time.Time) bool {
	return time.Duration(w.recovered.Load()) > at.Sub(w.start)
}

// check makes one check and recovers if needed. With an error it returns the failed step.
func (w *Detector) check(ctx context.Context, known *string, repair func(context.Context, Loss) error, changed func(context.Context)) (doing string, err error) {
	doing = "look"
	err = w.session(ctx, func(readCtx context.Context, s session) error {
		seen, err := s.observe(readCtx)
		if err != nil {
			return err
		}
		id := seen.id
		if seen.incarnation != seen.certified {
			doing = "recover"
			if err := w.recover(ctx, seen, repair); err != nil {
				return err
			}
			doing, id = "mark", rand.Text()
			if err := s.write(ctx, seen, id); err != nil {
				return err
			}
		}
		if *known != "" && *known != id {
			changed(ctx)
		}
		*known = id
		if id == seen.id && (seen.age >= renewAfter || seen.age < 0) {
			doing = "mark"
			if err := s.write(ctx, seen, id); err != nil && !errors.Is(err, errMarked) {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errMarked) { // another process was faster: the next check reads its mark
		err = nil
	}
	return doing, err
}

func (w *Detector) recover(ctx context.Context, seen observation, do func(context.Context, Loss) error) error {
	var loss Loss
	if _, cluster := w.rdb.(*redis.ClusterClient); seen.written && !cluster {
		loss = Loss{Known: true, Age: max(seen.age, 0) + clockSkew}
	}
	w.log.WarnContext(ctx, "Redis may have lost writes", "role", w.role, "known", loss.Known, "age", loss.Age)
	if err := do(ctx, loss); err != nil {
		return fmt.Errorf("recover from loss of %s Redis: %w", w.role, err)
	}
	w.losses.WithLabelValues(strconv.FormatBool(loss.Known)).Inc()
	return nil
}

var errMarked = errors.New("write mark: mark changed concurrently")

// write certifies an incarnation, or renews its mark.
func (s session) write(ctx context.Context, seen observation, id string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	done, err := markScript.Run(ctx, s.cmd, []string{s.key}, seen.mark, seen.incarnation+" "+id+" ", markLife.Milliseconds()).Int()
	switch {
	case err != nil:
		return fmt.Errorf("write mark of Redis: %w", err)
	case done == 0:
		return errMarked
	}
	return nil
}

func (s session) observe(ctx context.Context) (observation, error) {
	id, err := s.incarnation(ctx)
	if err != nil {
		return observation{}, err
	}
	// Sequential: on a cluster the keys are in two slots.
	mark, err := s.cmd.Get(ctx, s.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return observation{}, fmt.Errorf("read mark of Redis: %w", err)
	}
	seen := observation{incarnation: id, mark: mark}
	var ms int64
	if n, _ := fmt.Sscanf(mark, "%s %s %d", &seen.certified, &seen.id, &ms); n < 3 {
		return observation{incarnation: id, mark: mark}, nil // no mark, or an invalid one
	}
	now, err := s.now(ctx)
	seen.age, seen.written = now.Sub(time.UnixMilli(ms)), true
	return seen, err
}
