// Package app wires the stores, the services and the HTTP server. It owns the order in
// which they start and stop.
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
	out          io.Writer // human-readable text: URLs, demo logins
	reg          *prometheus.Registry
	site         *web.Site
	proxies      clientaddr.Proxies
	tracing      *observe.Tracing             // nil without a collector
	demoPassword string                       // of the demo logins; "" without them
	warmWait     time.Duration                // maximum, for warm caches; negative leaves them cold
	ready        chan struct{}                // closed when the server answers requests
	stopping     chan struct{}                // closed when the server stops accepting requests
	handler      atomic.Pointer[http.Handler] // nil until the start ends
	components   atomic.Pointer[Components]
	addr         atomic.Pointer[net.TCPAddr]
	metricsAddr  atomic.Pointer[net.TCPAddr] // nil if metrics are at addr
}

// New returns an App. It opens and starts nothing: see [App.Run]. Human-readable text, such
// as the addresses, goes to out.
func New(cfg *config.Config, log *slog.Logger, out io.Writer) (*App, error) {
	site, err := web.New()
	if err != nil {
		return nil, fmt.Errorf("read the web app: %w", err)
	}
	proxies, err := clientaddr.ParseProxies(cfg.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("parse trusted proxies: %w", err)
	}
	if !cfg.Introspection {
		site.HidePlayground()
	}
	return &App{cfg: cfg, log: log, out: out, reg: NewRegistry(), site: site, proxies: proxies, warmWait: warmWait, ready: make(chan struct{}), stopping: make(chan struct{})}, nil
}

// NewRegistry returns a registry with metrics of the Go runtime, the process and the build.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	return reg
}

// Ready returns a channel that is closed when the server answers requests.
func (a *App) Ready() <-chan struct{} { return a.ready }

// Addr returns the address of the server. Call it after Ready.
func (a *App) Addr() string { return a.addr.Load().String() }

// MetricsAddr returns the address of the metrics. Call it after Ready.
func (a *App) MetricsAddr() string {
	if own := a.metricsAddr.Load(); own != nil {
		return own.String()
	}
	return a.Addr()
}

// Components returns the stores and services of the server, or nil before they are open.
func (a *App) Components() *Components { return a.components.Load() }

// Metrics returns the metrics that /metrics serves.
func (a *App) Metrics() prometheus.Gatherer { return a.reg }

// Run serves until ctx ends, then drains and returns nil. It returns an error if the server
// cannot start or a worker fails.
//
// The listener opens first, so that probes reach a server that is not ready. Shutdown runs
// in reverse: the listener closes, running requests finish, workers finish their batch,
// stores close.
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
	err = a.runComponents(ctx, failed, func(graphQL *gqlserver.Server) error {
		return a.drain(context.WithoutCancel(ctx), server, graphQL)
	})
	serving.Wait()
	return err
}

// serveMetrics serves metrics and probes at --metrics-addr until the caller calls stop.
// Call it last, so that a scrape can observe the shutdown.
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
			_ = server.Close() // a client does not read its response
		}
		<-done
	}, nil
}

// drain closes the listener, ends subscriptions one after the other and waits for running
// requests. It returns an error if they are not done within --stop-timeout.
func (a *App) drain(ctx context.Context, server *http.Server, graphQL *gqlserver.Server) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.StopTimeout)
	defer cancel()
	close(a.stopping)
	var subscriptions errgroup.Group
	if graphQL != nil {
		subscriptions.Go(func() error { return graphQL.Close(ctx, a.cfg.StopTimeout/2) })
	}
	if err := errors.Join(server.Shutdown(ctx), subscriptions.Wait()); err != nil {
		return fmt.Errorf("wait %v for running requests: %w", a.cfg.StopTimeout, errors.Join(err, server.Close()))
	}
	return nil
}

// runComponents opens the components, serves until ctx ends or a part fails, calls drain
// and closes the components.
func (a *App) runComponents(ctx context.Context, failed <-chan error, drain func(*gqlserver.Server) error) error {
	components, err := Open(ctx, a.cfg, a.out, a.reg, a.log)
	if err != nil {
		return errors.Join(ignoreShutdown(ctx, err), drain(nil))
	}
	handler, graphQL, err := a.api(components)
	if err == nil {
		err = components.Visits.LoadSecret(ctx)
	}
	if err == nil {
		err = components.Accounts.LoadSecret(ctx)
	}
	if err == nil {
		err = a.prepareDemo(ctx, components)
	}
	if err != nil {
		return errors.Join(ignoreShutdown(ctx, err), drain(graphQL), components.Close())
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
			a.log.WarnContext(ctx, "ready before the caches are warm", "after", a.warmWait)
			a.open(components, handler)
			continue
		case <-ctx.Done():
			a.log.InfoContext(ctx, "stopping")
		case broken = <-failed:
		case <-groupCtx.Done(): // a worker failed; Wait returns its error
		}
		break
	}
	drained := drain(graphQL)
	stop()
	return errors.Join(broken, drained, group.Wait(), components.Close())
}

// warm starts to warm the caches. The server is ready when either channel is: warm after
// the first warm-up, even a failed one, and late after warmWait.
func (a *App) warm(ctx context.Context, group *errgroup.Group, components *Components) (warm <-chan struct{}, late <-chan time.Time) {
	if a.warmWait < 0 {
		now := make(chan struct{})
		close(now)
		return now, nil
	}
	group.Go(func() error { return components.warmer.run(ctx) })
	return components.warmer.done, time.After(a.warmWait)
}

// WarmWithin sets the maximum time that a starting server is unready while it warms its
// caches. The default is ten seconds. A negative d leaves them cold, for tests that count
// reads. Call it before Run.
func (a *App) WarmWithin(d time.Duration) { a.warmWait = d }

// ignoreShutdown returns nil if ctx ended during the start, else err.
func ignoreShutdown(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// open makes the server ready and prints its addresses.
func (a *App) open(components *Components, handler http.Handler) {
	a.handler.Store(&handler)
	a.warnCodes()
	a.warnPayments()
	a.logPictureStore()
	base := "http://" + browserAddr(a.addr.Load())
	playground := ""
	if a.cfg.Introspection {
		playground = "  playground  " + base + "/playground\n"
	}
	metrics := "http://" + browserAddr(cmp.Or(a.metricsAddr.Load(), a.addr.Load()))
	a.log.Info("ready", "addr", a.Addr(), "database", components.DB.Name, "embedded", a.cfg.Embedded())
	_, _ = fmt.Fprintf(a.out, "\nTandian is ready.\n\n  app         %s/\n%s  API         %s/graphql\n  metrics     %s/metrics\n%s\n%s\nPress Ctrl-C to stop.\n\n",
		base, playground, base, metrics, a.loginsText(), a.dataText())
	close(a.ready)
}

// warnCodes logs how the server delivers login codes.
func (a *App) warnCodes() {
	switch {
	case a.cfg.CodeSender == "console":
		a.log.Warn("login codes are printed on this terminal", "hint", "anyone with access to it can log in as any user; for real users, set --code-sender webhook")
	case a.cfg.CodeSender == "" && !a.cfg.Embedded():
		a.log.Warn("login codes are not sent", "hint", "sendLoginCode returns UNAVAILABLE; set --code-sender webhook, or console to try the server")
	}
}

// warnPayments logs how the server takes payments.
func (a *App) warnPayments() {
	switch {
	case a.cfg.Embedded(): // see dataText
	case a.cfg.FakesPayments():
		a.log.Warn("payments are fake", "hint", "every payment is confirmed without money; for real payments, set --payment-webhook-secret")
	case a.cfg.PaymentWebhookSecret == "":
		a.log.Warn("payments are not set up", "hint", "payOrder returns UNAVAILABLE; set --payment-webhook-secret, or --fake-payments to try the server")
	}
}

// dataText returns where the data is stored, for the terminal.
func (a *App) dataText() string {
	if a.cfg.Embedded() {
		note := "Everything runs in this process; data is stored in " + a.cfg.DataDir + ". For production, see DATABASE_URL and REDIS_URL in the README."
		if a.cfg.FakesPayments() {
			note += "\nPayments are fake: Alipay and WeChat Pay confirm immediately, without money."
		}
		return note
	}
	return "Data is stored in " + a.Components().DB.Name + "."
}

// browserAddr returns an address that a browser on this machine can open.
func browserAddr(addr *net.TCPAddr) string {
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", addr.Port)
	}
	return addr.String()
}

// trace starts to send traces, if the environment names a collector. Call end last: other
// parts send spans while they close.
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
