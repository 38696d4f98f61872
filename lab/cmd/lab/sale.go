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

// saleHouse is a server without its HTTP face.
type saleHouse struct {
	*app.Components
	shop int64
}

// openSaleHouse opens a server on stores.
func openSaleHouse(ctx context.Context, on salebench.Stores) (salebench.Shop, error) {
	house, err := newSaleHouse(ctx, on, config.Default().RedisPrefix)
	if err != nil {
		return nil, err
	}
	house.AddRedisHook(on.Trips)
	return house, nil
}

// newSaleHouse opens a server on stores under a prefix, and a merchant's shop in it.
func newSaleHouse(ctx context.Context, on salebench.Stores, prefix string) (*saleHouse, error) {
	cfg := config.Default()
	cfg.DatabaseURL, cfg.RedisURL, cfg.RedisPrefix, cfg.LogReader = on.DatabaseURL, on.RedisURL, prefix, "off"
	return furnished(ctx, &cfg)
}

// furnished opens a server, and a merchant's shop in it.
func furnished(ctx context.Context, cfg *config.Config) (*saleHouse, error) {
	cfg.RedisPoolSize = 128
	cfg.LiftContentLimits()
	house, err := app.Open(ctx, cfg, io.Discard, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	types, err := house.Shops.Types(ctx)
	if err != nil {
		return nil, errors.Join(err, house.Close())
	}
	people, err := house.Accounts.EnsureDemoAccounts(ctx, rand.Text(), account.DemoAccount{Phone: "+99900000002", Nickname: "Merchant", Role: account.Merchant})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a merchant: %w", err), house.Close())
	}
	made, err := house.Shops.Create(ctx, shop.Editor{UserID: people[0].ID, IsAdmin: true}, shop.Details{Name: "Noon", TypeID: types[0].ID, Address: "1 Noon Street"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a shop: %w", err), house.Close())
	}
	return &saleHouse{house, made.ID}, nil
}

// Run does the background work of the server.
func (h *saleHouse) Run(ctx context.Context) error { return h.Components.Run(ctx, true) }

// begin runs the background work of the server. stop ends it and closes the stores.
func (h *saleHouse) begin(ctx context.Context) (stop func() error) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(running) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, h.Close())
	}
}

// Open creates a flash voucher with an open sale.
func (h *saleHouse) Open(ctx context.Context, stock int) (salebench.Sale, error) {
	now := time.Now()
	made, err := h.Vouchers.CreateFlash(ctx, voucher.Editor{UserID: 1, IsAdmin: true}, voucher.FlashDetails{
		Details: voucher.Details{ShopID: h.shop, Title: "Noon", PayValue: 100, FaceValue: 500},
		Stock:   stock, BeginsAt: now.Add(-time.Minute), EndsAt: now.Add(time.Hour),
	})
	if err != nil {
		return nil, fmt.Errorf("make a flash voucher: %w", err)
	}
	return &saleOfHouse{house: h, voucher: made.ID}, nil
}

type saleOfHouse struct {
	house   *saleHouse
	voucher int64
}

// Voucher returns the id of the voucher.
func (s *saleOfHouse) Voucher() int64 { return s.voucher }

// Left returns the stock in Redis.
func (s *saleOfHouse) Left(ctx context.Context) (int, error) {
	left, err := s.house.Sales().Stocks(ctx, []int64{s.voucher})
	return left[s.voucher], err
}

// Order runs orderVoucher without GraphQL.
func (s *saleOfHouse) Order(ctx context.Context, user int64) (salebench.Result, error) {
	made, err := s.house.Orders.Place(ctx, user, s.voucher, "")
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
