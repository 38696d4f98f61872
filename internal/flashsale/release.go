package flashsale

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/sale"
)

// Outbox topics.
const (
	topicReserve = "sale-reserve" // numbers of orders that were stored past Redis
	topicRelease = "sale-release" // reservations of ended orders
)

// handleJobs registers the handlers of jobs whose writer could not finish them.
func (s *Service) handleJobs() {
	s.outbox.Handle(topicReserve, outbox.Handler{Do: outbox.DoBatch(s.retryReserve)})
	s.outbox.Handle(topicRelease, outbox.Handler{Do: outbox.DoBatch(s.retryRelease)})
}

// retryReserve runs reserveRows for jobs. It checks Redis first: without Redis the sales run on the
// database, which must not get useless queries.
func (s *Service) retryReserve(ctx context.Context, numbers ...int64) error {
	if err := s.admitter.state.Ping(ctx).Err(); err != nil {
		return outbox.Transient(fmt.Errorf("reserve %d orders in Redis: %w", len(numbers), err))
	}
	return s.reserveRows(ctx, numbers...)
}

// reservationJob is the payload of a [sale.Reservation]: order, user, voucher.
type reservationJob [3]int64

// Release returns units to the stock of their sales, in the transaction that ends their orders.
// tx must change the status of each order only if it is live, so that a unit returns only once.
// Call [Service.AfterRelease] after the commit, and roll back after an error.
func (s *Service) Release(ctx context.Context, tx outbox.Execer, holds []sale.Reservation) ([]outbox.JobRef, error) {
	if len(holds) == 0 {
		return nil, nil
	}
	units := map[int64]int{}
	payloads := make([]reservationJob, len(holds))
	for i, h := range holds {
		units[h.Voucher]++
		payloads[i] = reservationJob{h.Order, h.User, h.Voucher}
	}
	if err := changeStock(ctx, tx, s.writer.sql.restock, units); err != nil {
		return nil, fmt.Errorf("release %d units: %w", len(holds), err)
	}
	jobs, err := outbox.AddBatch(ctx, s.outbox, tx, topicRelease, payloads...)
	if err != nil {
		return nil, fmt.Errorf("release %d units: %w", len(holds), err)
	}
	return jobs, nil
}

// AfterRelease releases the reservations in Redis, after the commit of [Service.Release]. It
// reports no error: the outbox runs the jobs that it could not finish.
func (s *Service) AfterRelease(ctx context.Context, holds []sale.Reservation, jobs []outbox.JobRef) {
	s.outbox.Finish(ctx, s.release(ctx, holds), jobs...)
}

func (s *Service) retryRelease(ctx context.Context, payloads ...reservationJob) error {
	holds := make([]sale.Reservation, len(payloads))
	for i, w := range payloads {
		holds[i] = sale.Reservation{Order: w[0], User: w[1], Voucher: w[2]}
	}
	return outbox.Transient(s.release(ctx, holds))
}

// reserveRows adds the live ones of these orders to Redis.
func (s *Service) reserveRows(ctx context.Context, numbers ...int64) error {
	rows, err := s.rowsOf(ctx, numbers)
	if err != nil {
		return outbox.Transient(err)
	}
	var holds []sale.Reservation
	for _, r := range rows {
		if isLive(r) {
			holds = append(holds, sale.Reservation{Order: r.ID, User: r.UserID, Voucher: r.VoucherID})
		}
	}
	return outbox.Transient(s.reserve(ctx, holds))
}

// release removes exactly these orders from Redis and returns their units. It is idempotent.
func (s *Service) release(ctx context.Context, holds []sale.Reservation) error {
	return s.move(ctx, holds, s.admitter.release)
}

// reserve adds these orders to Redis and takes their units, unless the user has an order. It is
// idempotent.
func (s *Service) reserve(ctx context.Context, holds []sale.Reservation) error {
	return s.move(ctx, holds, s.admitter.reserve)
}

func (s *Service) move(ctx context.Context, holds []sale.Reservation, by func(context.Context, location, []sale.Reservation) (int, error)) error {
	if len(holds) == 0 {
		return nil
	}
	sales := map[int64][]sale.Reservation{}
	for _, h := range holds {
		sales[h.Voucher] = append(sales[h.Voucher], h)
	}
	var vouchers []int64
	for v := range sales {
		vouchers = append(vouchers, v)
	}
	locations, err := s.locationsOf(ctx, vouchers)
	if err != nil {
		return err
	}
	var failed []error
	for v, list := range sales {
		if at, ok := locations[v]; ok { // otherwise its keys were removed, and the reservation with them
			for part := range slices.Chunk(list, chunkSize) {
				_, err := by(ctx, at, part)
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

// locationsOf returns the locations of sales. It omits sales that were removed from Redis.
func (s *Service) locationsOf(ctx context.Context, vouchers []int64) (map[int64]location, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	rows, err := s.db.FlashSale.Query().
		Where(flashsale.IDIn(vouchers...), flashsale.SweptAtIsNil()).
		Select(flashsale.FieldID, flashsale.FieldPartition, flashsale.FieldBuckets).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the locations of %d sales: %w", len(vouchers), err)
	}
	locations := make(map[int64]location, len(rows))
	for _, r := range rows {
		locations[r.ID] = locationOf(r)
	}
	return locations, nil
}
