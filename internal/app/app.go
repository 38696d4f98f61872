// Package app is the hall: it opens the stores, builds the rooms, joins them
// and owns the order in which everything starts and stops. It is the only
// package that knows all the others.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/connlimit"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/web"
)

// App is one server process.
type App struct {
	cfg          *config.Config
	log          *slog.Logger
	out          io.Writer // what a person should read: URLs
	reg          *prometheus.Registry
	site         *web.Site
	proxies      clientaddr.Proxies
	tracing      *observe.Tracing             // nil if nobody collects
	demoPassword string                       // of the logins to try; "" if there are none
	warmWait     time.Duration                // for warm caches; negative: they stay cold
	ready        chan struct{}                // closed when requests are answered
	ending       chan struct{}                // closed when no more will come
	opened       atomic.Pointer[http.Handler] // what answers once the house is open
	components   atomic.Pointer[Components]
	addr         atomic.Pointer[net.TCPAddr]
	metricsAddr  atomic.Pointer[net.TCPAddr] // nil: metrics are at addr
}

// New builds an App. It opens and starts nothing: see [App.Run]. What a person
// should read, such as the addresses, goes to out.
func New(cfg *config.Config, log *slog.Logger, out io.Writer) (*App, error) {
	site, err := web.New()
	if err != nil {
		return nil, fmt.Errorf("built pages: %w", err)
	}
	proxies, err := clientaddr.ParseProxies(cfg.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	if !cfg.Introspection {
		site.HidePlayground()
	}
	return &App{cfg: cfg, log: log, out: out, reg: NewRegistry(), site: site, proxies: proxies, warmWait: warmWait, ready: make(chan struct{}), ending: make(chan struct{})}, nil
}

// NewRegistry returns a registry with the metrics of the Go runtime, the process and the
// build.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	return reg
}

// Ready is closed as soon as requests are answered.
func (a *App) Ready() <-chan struct{} { return a.ready }

// Addr is where the server listens, once it is ready.
func (a *App) Addr() string { return a.addr.Load().String() }

// MetricsAddr is where metrics are, once the server is ready.
func (a *App) MetricsAddr() string {
	if own := a.metricsAddr.Load(); own != nil {
		return own.String()
	}
	return a.Addr()
}

// Components is what the server works on, once it is ready.
func (a *App) Components() *Components { return a.components.Load() }

// Metrics is what /metrics shows.
func (a *App) Metrics() prometheus.Gatherer { return a.reg }

// Run serves until ctx ends, then drains and returns nil. An error means that
// the server could not start, or that a part of it failed.
//
// The listener opens first, so that a probe sees a server that is not ready
// rather than none. The end goes the other way round, so that nothing is asked
// of a part that is gone: no new connections and running requests finish, then
// the workers finish the batch in hand, then the stores close.
func (a *App) Run(ctx context.Context) error {
	endTraces, err := a.trace(ctx)
	if err != nil {
		return err
	}
	defer endTraces()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", a.cfg.Addr, err)
	}
	a.addr.Store(listener.Addr().(*net.TCPAddr)) //nolint:forcetypeassert // the network is tcp
	server := a.server()
	var serving sync.WaitGroup
	failed := make(chan error, 2)
	if a.cfg.MetricsAddr != "" {
		stop, err := a.serveMetrics(ctx, failed)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer stop()
	}
	bounded := a.bounded(listener)
	serving.Go(func() {
		if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve: %w", err)
		}
	})
	err = a.work(ctx, failed, func(gate *gqlserver.Server) error {
		return a.drain(context.WithoutCancel(ctx), server, gate)
	})
	serving.Wait()
	return err
}

// serveMetrics serves metrics and probes on an address of their own until stop. The caller
// stops it last, so a scrape can observe the shutdown.
func (a *App) serveMetrics(ctx context.Context, failed chan<- error) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.MetricsAddr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for metrics: %w", a.cfg.MetricsAddr, err)
	}
	a.metricsAddr.Store(listener.Addr().(*net.TCPAddr)) //nolint:forcetypeassert // the network is tcp
	server := a.metricsServer()
	bounded := connlimit.Listen(listener, connlimit.Config{PerAddress: metricsConnsPerAddress, Total: metricsConns})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve metrics: %w", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), metricsStopTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // a client that does not read its answer
		}
		<-done
	}, nil
}

// drain ends subscriptions, each at its turn, and waits for running requests.
// New ones find no listener meanwhile.
func (a *App) drain(ctx context.Context, server *http.Server, gate *gqlserver.Server) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.StopTimeout)
	defer cancel()
	close(a.ending)
	var subscriptions errgroup.Group
	if gate != nil {
		subscriptions.Go(func() error { return gate.Close(ctx, a.cfg.StopTimeout/2) })
	}
	if err := errors.Join(server.Shutdown(ctx), subscriptions.Wait()); err != nil {
		return fmt.Errorf("requests were still running after %v: %w", a.cfg.StopTimeout, errors.Join(err, server.Close()))
	}
	return nil
}

// work opens the house, serves from it until ctx ends or something fails, and
// closes it again; drain ends the requests.
func (a *App) work(ctx context.Context, failed <-chan error, drain func(*gqlserver.Server) error) error {
	components, err := Open(ctx, a.cfg, a.out, a.reg, a.log)
	if err != nil {
		return errors.Join(ignoreShutdown(ctx, err), drain(nil))
	}
	handler, gate, err := a.api(components)
	if err == nil {
		err = components.Visits.LoadSecret(ctx)
	}
	if err == nil {
		err = components.Accounts.LearnSecret(ctx)
	}
	if err == nil {
		err = a.settle(ctx, components)
	}
	if err != nil {
		return errors.Join(ignoreShutdown(ctx, err), drain(gate), components.Close())
	}
	workers, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, groupCtx := errgroup.WithContext(workers)
	components.start(groupCtx, group, a.cfg.Runs("workers"))
	a.components.Store(components)
	var broken error
	for warm, late := a.warm(groupCtx, group, components); ; warm, late = nil, nil {
		select {
		case <-warm:
			a.open(components, handler)
			continue
		case <-late:
			a.log.WarnContext(ctx, "ready before the caches are warm; that goes on", "after", a.warmWait)
			a.open(components, handler)
			continue
		case <-ctx.Done():
			a.log.InfoContext(ctx, "stopping: no new connections, running requests finish")
		case broken = <-failed:
		case <-groupCtx.Done(): // a worker failed; its error comes with Wait
		}
		break
	}
	drained := drain(gate)
	stop()
	return errors.Join(broken, drained, group.Wait(), components.Close())
}

// warm begins to warm the caches, which never fails the start. One of the channels says
// when requests may come.
func (a *App) warm(ctx context.Context, group *errgroup.Group, components *Components) (warm <-chan struct{}, late <-chan time.Time) {
	if a.warmWait < 0 {
		now := make(chan struct{})
		close(now)
		return now, nil
	}
	group.Go(func() error { return components.warmer.run(ctx) })
	return components.warmer.done, time.After(a.warmWait)
}

// WarmWithin says how long a server that starts may stay unready while its caches are
// read, instead of ten seconds; a negative time leaves them cold, for tests that count what
// is read. Call it before Run.
func (a *App) WarmWithin(d time.Duration) { a.warmWait = d }

// ignoreShutdown is err, or nil if it only says that the server was stopped
// while it started.
func ignoreShutdown(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// open lets requests in.
func (a *App) open(components *Components, handler http.Handler) {
	a.opened.Store(&handler)
	a.warnOfCodes()
	a.warnOfPayments()
	a.noteOfPictures()
	base := "http://" + shownAddr(a.addr.Load())
	playground := ""
	if a.cfg.Introspection {
		playground = "  playground  " + base + "/playground\n"
	}
	metrics := "http://" + shownAddr(cmp.Or(a.metricsAddr.Load(), a.addr.Load()))
	a.log.Info("ready", "addr", a.Addr(), "database", components.DB.Name, "embedded", a.cfg.Embedded())
	_, _ = fmt.Fprintf(a.out, "\nTandian is ready.\n\n  app         %s/\n%s  API         %s/graphql\n  metrics     %s/metrics\n%s\n%s\nCtrl-C stops.\n\n",
		base, playground, base, metrics, a.shownLogins(), a.dataNote())
	close(a.ready)
}

// warnOfCodes says at the start what an operator should know of login codes.
func (a *App) warnOfCodes() {
	switch {
	case a.cfg.CodeSender == "console":
		a.log.Warn("login codes are printed on this terminal: whoever reads it can log in as anybody; for real users set --code-sender webhook")
	case a.cfg.CodeSender == "" && !a.cfg.Embedded():
		a.log.Warn("login codes are not sent: sendLoginCode answers UNAVAILABLE; set --code-sender webhook, or console to try")
	}
}

// warnOfPayments logs how the server takes payments.
func (a *App) warnOfPayments() {
	switch {
	case a.cfg.Embedded(): // dataNote says it
	case a.cfg.FakesPayments():
		a.log.Warn("payments are fake", "hint", "every payment is confirmed without money; for real ones set --payment-webhook-secret")
	case a.cfg.PaymentWebhookSecret == "":
		a.log.Warn("payments are not set up", "hint", "payOrder answers UNAVAILABLE; set --payment-webhook-secret, or --fake-payments to try the server")
	}
}

func (a *App) dataNote() string {
	if a.cfg.Embedded() {
		note := "Everything runs in this process; data is kept in " + a.cfg.DataDir + ". For more than a try, see DATABASE_URL and REDIS_URL in the README."
		if a.cfg.FakesPayments() {
			note += "\nPayments are fake: Alipay and WeChat Pay confirm at once, and no money moves."
		}
		return note
	}
	return "Data is kept in " + a.Components().DB.Name + "."
}

// shownAddr is an address that a browser on this machine can open.
func shownAddr(addr *net.TCPAddr) string {
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", addr.Port)
	}
	return addr.String()
}

// trace begins to send traces, if the environment names a collector. Call end
// last of all: what closes before may still have something to tell.
func (a *App) trace(ctx context.Context) (end func(), err error) {
	if a.tracing, err = observe.NewTracing(ctx, version(), a.log); err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.StopTimeout)
		defer cancel()
		a.tracing.Close(ctx)
	}, nil
}
