package flashsale

import (
	"fmt"
	"strconv"

	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/sale"
)

// keys builds the Redis keys of sales. All keys of a partition share one hash tag and so one
// slot. A script may access any of them, and they are lost or rolled back together.
type keys struct{ prefix string }

func (k keys) partition(p int) string { return k.prefix + ":sale:{p" + strconv.Itoa(p) + "}:" }

// open is the marker of a partition: its certified incarnation.
func (k keys) open(p int) string { return k.partition(p) + "open" }

// orders is the stream of a partition: admitted orders that wait for their commit.
func (k keys) orders(p int) string { return k.partition(p) + "orders" }

// parked is the stream of entries of a partition that could not be stored.
func (k keys) parked(p int) string { return k.partition(p) + "parked" }

// order is the entry of an order without a row. The number contains the partition.
func (k keys) order(number int64) string {
	return k.partition(sequence.Partition(number)) + "order:" + decimal(number)
}

// idem maps the digest of an idempotency key to its order.
func (k keys) idem(p int, digest string) string { return k.partition(p) + "idem:" + digest }

func (k keys) meta(p int, voucher int64) string { return k.sale(p, voucher) + "meta" }

func (k keys) stock(p int, voucher int64) string { return k.sale(p, voucher) + "stock" }

// bucket holds one part of the buyers.
func (k keys) bucket(p int, voucher int64, i int) string {
	return k.sale(p, voucher) + "buyers:" + strconv.Itoa(i)
}

func (k keys) sale(p int, voucher int64) string { return k.partition(p) + decimal(voucher) + ":" }

// ofSale returns all keys of a sale: meta, stock, buckets.
func (k keys) ofSale(at location) []string {
	all := make([]string, 0, 2+at.buckets)
	all = append(all, k.meta(at.partition, at.voucher), k.stock(at.partition, at.voucher))
	for i := range at.buckets {
		all = append(all, k.bucket(at.partition, at.voucher, i))
	}
	return all
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// readReservation parses a field of a bucket: user and order.
func readReservation(voucher int64, pair []string) (sale.Reservation, error) {
	if len(pair) == 2 {
		user, errUser := strconv.ParseInt(pair[0], 10, 64)
		order, errOrder := strconv.ParseInt(pair[1], 10, 64)
		if errUser == nil && errOrder == nil {
			return sale.Reservation{Order: order, User: user, Voucher: voucher}, nil
		}
	}
	return sale.Reservation{}, fmt.Errorf("invalid buyer of voucher %d: %q", voucher, pair)
}
