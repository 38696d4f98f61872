package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/seeder"
	"github.com/tandian-dev/tandian/lab/salebench"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// saleOverHTTP measures flash sales over HTTP. The servers run in their own processes.
func (c *commands) saleOverHTTP(ctx context.Context, cmd *call) error {
	command, err := c.process(ctx, "sale")
	if err != nil {
		return err
	}
	return salebench.HTTPRows(ctx, salebench.HTTPOptions{
		Command: command, Stage: openSaleStage, Users: min(cmd.Int("users"), 20_000), Rounds: cmd.Int("rounds"),
		Profiles: cmd.String("profiles"), Progress: c.stderr,
	}, c.stdout)
}

// saleProcess runs one of these servers.
func (c *commands) saleProcess(ctx context.Context, _ *call) error {
	return testbed.Process(ctx, os.Stdin, c.stdout, func(ctx context.Context, s testbed.Setting) (string, error) {
		cfg := config.Default()
		cfg.Addr, cfg.DatabaseURL, cfg.RedisURL, cfg.LogReader, cfg.OrderWait = "127.0.0.1:0", s.DatabaseURL, s.RedisURL, "off", s.Wait
		cfg.RateAnonymous, cfg.RateUser, cfg.Limits = 0, 0, []string{"looks=off"} // all users have one address
		if len(s.Run) > 0 {
			cfg.Run = s.Run
		}
		return startServer(ctx, &cfg, observe.NewLogger(c.stderr, "auto", slog.LevelError))
	})
}

// saleStage holds two servers without HTTP on the stores of the measured one. The first creates its
// sales. The second has another key prefix, so no other server knows its sales.
type saleStage struct {
	server, apart *saleServer
	stop          context.CancelFunc
	chores        *errgroup.Group
}

func openSaleStage(ctx context.Context, on salebench.Stores) (salebench.Stage, error) {
	server, err := newSaleServer(ctx, on, config.Default().RedisPrefix)
	if err != nil {
		return nil, err
	}
	apart, err := newSaleServer(ctx, on, "apart")
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	group, background := errgroup.WithContext(background)
	for _, h := range []*saleServer{server, apart} {
		group.Go(func() error { return h.Components.Run(background, false) })
	}
	return &saleStage{server, apart, stop, group}, nil
}

// Close closes both servers.
func (s *saleStage) Close() error {
	s.stop()
	return errors.Join(s.chores.Wait(), s.apart.Close(), s.server.Close())
}

// People creates n users and returns a session token for each.
func (s *saleStage) People(ctx context.Context, n int) ([]string, error) {
	drafts := slices.Collect(seeder.GenerateUsers(n, 1))
	ids, err := s.server.Accounts.BulkInsert(ctx, drafts, func(int) {})
	if err != nil {
		return nil, err
	}
	return s.server.Accounts.CreateSessions(ctx, ids)
}

// OpenApart opens a sale that the measured server does not know.
func (s *saleStage) OpenApart(ctx context.Context, stock int) (salebench.Sale, error) {
	return s.apart.Open(ctx, stock)
}

// Open opens a sale of the measured server, and returns its global id.
func (s *saleStage) Open(ctx context.Context, stock int) (salebench.Sale, string, error) {
	sale, err := s.server.Open(ctx, stock)
	if err != nil {
		return nil, "", err
	}
	return sale, scalar.ID{Type: "FlashVoucher", N: sale.Voucher()}.String(), nil
}

// Admission returns the admission script with its keys and arguments, for a sale of OpenApart.
func (s *saleStage) Admission(ctx context.Context, of salebench.Sale, user, number int64) (string, []string, []any, error) {
	v, err := s.apart.Vouchers.ByID(ctx, of.Voucher())
	if err != nil {
		return "", nil, nil, err
	}
	script, keys, args := s.apart.Sales().AdmitArgs(sale.Request{
		UserID: user, VoucherID: v.ID, ShopID: v.ShopID, Price: v.PayValue, Partition: v.Sale.Partition, Buckets: v.Sale.Buckets,
	}, number+int64(v.Sale.Partition))
	return script, keys, args, nil
}
