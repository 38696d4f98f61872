package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/voucher"
	"github.com/tandian-dev/tandian/lab/salebench"
)

// saleServer is a server without HTTP, with one shop.
type saleServer struct {
	*app.Components
	shop int64
}

// openSaleServer opens a server for bench sale.
func openSaleServer(ctx context.Context, on salebench.Stores) (salebench.Shop, error) {
	server, err := newSaleServer(ctx, on, config.Default().RedisPrefix)
	if err != nil {
		return nil, err
	}
	server.AddRedisHook(on.Trips)
	return server, nil
}

// newSaleServer opens a server with a Redis key prefix, and creates a shop.
func newSaleServer(ctx context.Context, on salebench.Stores, prefix string) (*saleServer, error) {
	cfg := config.Default()
	cfg.DatabaseURL, cfg.RedisURL, cfg.RedisPrefix, cfg.LogReader = on.DatabaseURL, on.RedisURL, prefix, "off"
	return openWithShop(ctx, &cfg)
}

// openWithShop opens a server and creates a merchant and a shop.
func openWithShop(ctx context.Context, cfg *config.Config) (*saleServer, error) {
	cfg.RedisPoolSize = 128
	cfg.LiftContentLimits()
	server, err := app.Open(ctx, cfg, io.Discard, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	types, err := server.Shops.Types(ctx)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	people, err := server.Accounts.EnsureDemoAccounts(ctx, rand.Text(), account.DemoAccount{Phone: "+99900000002", Nickname: "Merchant", Role: account.Merchant})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create merchant: %w", err), server.Close())
	}
	made, err := server.Shops.Create(ctx, shop.Editor{UserID: people[0].ID, IsAdmin: true}, shop.Details{Name: "Noon", TypeID: types[0].ID, Address: "1 Noon Street"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create shop: %w", err), server.Close())
	}
	return &saleServer{server, made.ID}, nil
}

// Run runs the background work of the server until ctx ends.
func (h *saleServer) Run(ctx context.Context) error { return h.Components.Run(ctx, true) }

// begin starts the background work of the server. stop ends it and closes the stores.
func (h *saleServer) begin(ctx context.Context) (stop func() error) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(running) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, h.Close())
	}
}

// Open creates a flash voucher with an open sale.
func (h *saleServer) Open(ctx context.Context, stock int) (salebench.Sale, error) {
	now := time.Now()
	made, err := h.Vouchers.CreateFlash(ctx, voucher.Editor{UserID: 1, IsAdmin: true}, voucher.FlashDetails{
		Details: voucher.Details{ShopID: h.shop, Title: "Noon", PayValue: 100, FaceValue: 500},
		Stock:   stock, BeginsAt: now.Add(-time.Minute), EndsAt: now.Add(time.Hour),
	})
	if err != nil {
		return nil, fmt.Errorf("create flash voucher: %w", err)
	}
	return &openSale{server: h, voucher: made.ID}, nil
}

type openSale struct {
	server  *saleServer
	voucher int64
}

// Voucher returns the id of the voucher.
func (s *openSale) Voucher() int64 { return s.voucher }

// Left returns the stock in Redis.
func (s *openSale) Left(ctx context.Context) (int, error) {
	left, err := s.server.Sales().Stocks(ctx, []int64{s.voucher})
	return left[s.voucher], err
}

// Order orders a unit, like orderVoucher.
func (s *openSale) Order(ctx context.Context, user int64) (salebench.Result, error) {
	made, err := s.server.Orders.Place(ctx, user, s.voucher, "")
	if refusals, ok := errors.AsType[apierror.UserErrors](err); ok && refusals[0].Code == order.OutOfStock {
		return salebench.SoldOut, nil
	}
	if err != nil {
		return 0, err
	}
	if made.Status == order.Queued {
		return salebench.Queued, nil
	}
	return salebench.Stored, nil
}
