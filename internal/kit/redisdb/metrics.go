package redisdb

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// roundTripBuckets are the histogram bounds of round trips in seconds, from a local Redis to a hung
// server.
var roundTripBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5} //nolint:gochecknoglobals // never modified

// RedisMetrics counts and times Redis commands and exports pool statistics.
type RedisMetrics struct {
	reg      prometheus.Registerer
	seconds  *prometheus.HistogramVec
	commands *prometheus.CounterVec
	errors   *prometheus.CounterVec
	open     *prometheus.GaugeVec
	opened   *prometheus.CounterVec
	refused  *prometheus.CounterVec
}

// NewRedisMetrics registers the metrics of all clients that [OpenRedis] opens.
func NewRedisMetrics(reg prometheus.Registerer) *RedisMetrics {
	m := &RedisMetrics{
		reg: reg,
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tandian_redis_round_trip_seconds", Help: "Duration of Redis round trips; a pipeline counts as one.", Buckets: roundTripBuckets,
		}, []string{"role"}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_commands_total", Help: "Redis commands, including those in pipelines.",
		}, []string{"role", "command"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_errors_total", Help: "Failed Redis round trips.",
		}, []string{"role"}),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tandian_redis_breaker_open", Help: "Redis nodes with an open breaker, because they do not respond or reject writes.",
		}, []string{"role"}),
		opened: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_breaker_opened_total", Help: "Opened Redis breakers.",
		}, []string{"role"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_redis_breaker_refused_total", Help: "Redis commands rejected by an open breaker.",
		}, []string{"role"}),
	}
	reg.MustRegister(m.seconds, m.commands, m.errors, m.open, m.opened, m.refused)
	return m
}

// watch adds a client's commands and pool to the metrics.
func (m *RedisMetrics) watch(role string, client redis.UniversalClient) {
	m.seconds.WithLabelValues(role)
	m.errors.WithLabelValues(role)
	m.open.WithLabelValues(role)
	m.opened.WithLabelValues(role)
	m.refused.WithLabelValues(role)
	client.AddHook(hook{m, role})
	labels := prometheus.Labels{"role": role}
	stat := func(name, help string, value func(*redis.PoolStats) float64) {
		m.reg.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "tandian_redis_pool_" + name, Help: help, ConstLabels: labels},
			func() float64 { return value(client.PoolStats()) },
		))
	}
	stat("connections", "Open connections.", func(s *redis.PoolStats) float64 { return float64(s.TotalConns) })
	stat("idle_connections", "Idle connections.", func(s *redis.PoolStats) float64 { return float64(s.IdleConns) })
	stat("waits", "Waits for a connection since the start.", func(s *redis.PoolStats) float64 { return float64(s.WaitCount) })
	stat("wait_seconds", "Time spent waiting for a connection since the start.", func(s *redis.PoolStats) float64 { return time.Duration(s.WaitDurationNs).Seconds() })
	stat("timeouts", "Timeouts of waits for a connection since the start.", func(s *redis.PoolStats) float64 { return float64(s.Timeouts) })
}

// A hook observes the commands of one client.
type hook struct {
	m    *RedisMetrics
	role string
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		begin, span := time.Now(), commandSpan(ctx, h.role, false, cmd)
		err := next(ctx, cmd)
		observe.EndSpan(span, h.observe(begin, err, cmd))
		return err
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		begin, span := time.Now(), commandSpan(ctx, h.role, true, cmds...)
		err := next(ctx, cmds)
		observe.EndSpan(span, h.observe(begin, err, cmds...))
		return err
	}
}

// observe counts and times a round trip. It returns err if the round trip failed. Commands rejected
// by a breaker count only as such: nothing was sent.
func (h hook) observe(begin time.Time, err error, cmds ...redis.Cmder) error {
	sent := 0
	for _, cmd := range cmds {
		if errors.Is(cmd.Err(), ErrBreakerOpen) {
			h.m.refused.WithLabelValues(h.role).Inc()
			continue
		}
		sent++
		h.m.commands.WithLabelValues(h.role, cmd.Name()).Inc()
	}
	if sent == 0 && err != nil {
		return err
	}
	h.m.seconds.WithLabelValues(h.role).Observe(time.Since(begin).Seconds())
	// An error reply is no failure of the round trip.
	if _, answered := errors.AsType[redis.Error](err); err == nil || answered {
		return nil
	}
	if !errors.Is(err, context.Canceled) {
		h.m.errors.WithLabelValues(h.role).Inc()
	}
	return err
}
