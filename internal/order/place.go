package order

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/schema"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/sale"
)

// MaxKey is the maximum length of an idempotency key in characters.
const MaxKey = 64

// triesPerSecond limits the order attempts of a user: rate and burst.
const triesPerSecond = 5

// closedFor is the time after a sale's end from which orders are refused without calling Sales.
const closedFor = time.Hour

// writeTimeout bounds the store operations of one call.
const writeTimeout = 5 * time.Second

// Place orders one item of a voucher for a user. The order is QUEUED or UNPAID. If the
// idempotency key made an order within the last day, Place returns that order in its current
// status. key may be "".
//
// The owner of a shop cannot order its vouchers: such orders would raise the owner's points
// and the sales of the shop.
//
// A refusal is an [apierror.UserErrors]. With ALREADY_ORDERED, Place also returns the existing
// order. If the new order FAILED, Place returns it with the reason. More than five attempts per
// second are [apierror.RateLimited]. After any other error the order may or may not exist: retry
// with the same key.
func (s *Service) Place(ctx context.Context, userID, voucherID int64, key string) (*Order, error) {
	return s.PlaceKind(ctx, AnyKind, userID, voucherID, key)
}

// A Kind is a kind of voucher.
type Kind int

// All kinds. AnyKind includes the other two.
const (
	AnyKind Kind = iota
	Ordinary
	Flash
)

func (k Kind) fits(v *Voucher) bool { return k == AnyKind || (k == Flash) == (v.Sale != nil) }

// PlaceKind is [Service.Place] for vouchers of one kind. A voucher of another kind is not
// found.
func (s *Service) PlaceKind(ctx context.Context, kind Kind, userID, voucherID int64, key string) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Place")
	defer span.End()
	if utf8.RuneCountInString(key) > MaxKey {
		return nil, apierror.Refuse(apierror.InvalidInput, fmt.Sprintf("Use a key of at most %d characters.", MaxKey), "idempotencyKey")
	}
	if wait, ok := s.limiter.Allow(decimal(userID)); !ok {
		return nil, apierror.New(apierror.RateLimited, "You can try to order at most %d times per second. Wait a moment and try again.", triesPerSecond).WithRetryAfter(wait)
	}
	v, err := s.cfg.Vouchers.VoucherByID(ctx, voucherID)
	if errors.Is(err, apierror.ErrNotFound) || err == nil && !kind.fits(v) {
		return nil, apierror.Refuse(apierror.NotFound, "This voucher doesn't exist.", "voucherId")
	}
	if err != nil {
		return nil, fmt.Errorf("order voucher %d: %w", voucherID, err)
	}
	w := placement{user: userID, voucher: v, digest: digest(userID, voucherID, key)}
	order, err := s.grant(ctx, w)
	if _, refused := errors.AsType[apierror.UserErrors](err); err != nil && !refused {
		return nil, fmt.Errorf("order voucher %d for user %d: %w", voucherID, userID, err)
	}
	return order, err
}

// A placement is the request of one Place call.
type placement struct {
	user    int64
	voucher *Voucher
	digest  string // of the idempotency key; "": none
}

// digest hashes an idempotency key with user and voucher, so that a key never finds the orders
// of other users.
func digest(user, voucher int64, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d:%s", user, voucher, key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Service) grant(ctx context.Context, w placement) (*Order, error) {
	flash := w.voucher.Sale
	over := flash != nil && flash.EndsAt.Add(closedFor).Before(s.now())
	switch {
	case w.voucher.Owner == w.user:
		return s.refuseClosed(ctx, w, OwnShop, "You can't buy from your own shop.")
	case flash != nil && !over: // also off sale: the sale may know an order of the key
		return s.placeFlash(ctx, w)
	case w.voucher.Off:
		return s.refuseClosed(ctx, w, OffSale, "This voucher is no longer on sale.")
	case over:
		return s.refuseClosed(ctx, w, SaleEnded, "The sale has ended.")
	}
	return s.placeOrdinary(ctx, w)
}

// refuseClosed refuses an order of a closed voucher, unless its idempotency key made an order.
func (s *Service) refuseClosed(ctx context.Context, w placement, code apierror.Code, message string) (*Order, error) {
	if first, err := s.byDigest(ctx, w.digest); first != nil || err != nil {
		return first, err
	}
	return nil, refused(code, message)
}

func refused(code apierror.Code, message string) apierror.UserErrors {
	return apierror.Refuse(code, message, "voucherId")
}

func (s *Service) byDigest(ctx context.Context, digest string) (*Order, error) {
	if digest == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	return orderOrNil(s.db.Order.Query().Where(entorder.Idempotency(digest)).Only(ctx))
}

func (s *Service) liveOrder(ctx context.Context, user, voucher int64) (*Order, error) {
	live := func(sel *sql.Selector) { sel.Where(sql.ExprP(schema.LiveOrder)) } // the condition of the index order_live
	return orderOrNil(s.db.Order.Query().Where(entorder.VoucherID(voucher), entorder.UserID(user), entorder.OnePerUser(true), live).Only(ctx))
}

func orderOrNil(row *ent.Order, err error) (*Order, error) {
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("select order: %w", err)
	}
	return fromRow(row), nil
}

func (s *Service) placeFlash(ctx context.Context, w placement) (*Order, error) {
	v := w.voucher
	answer, err := s.cfg.Sales.Order(ctx, sale.Request{
		UserID: w.user, VoucherID: v.ID, ShopID: v.ShopID, Price: v.Price,
		Partition: v.Sale.Partition, Buckets: v.Sale.Buckets, Key: w.digest,
	})
	if err != nil {
		return nil, err
	}
	switch answer.Result {
	case sale.Queued:
		return w.queued(answer, s.now()), nil
	case sale.Stored:
		if answer.PayBefore.IsZero() {
			return s.decided(ctx, w, answer)
		}
		return w.stored(answer), nil
	case sale.Repeated:
		return s.decided(ctx, w, answer)
	case sale.Held:
		order, err := s.decided(ctx, w, answer)
		if err != nil {
			return nil, err
		}
		return order, alreadyOrdered()
	case sale.Failed:
		return s.failed(ctx, w, answer)
	case sale.NotStarted:
		return nil, refused(SaleNotStarted, "The sale hasn't started yet.")
	case sale.Ended:
		return nil, refused(SaleEnded, "The sale has ended.")
	case sale.OffSale:
		return nil, refused(OffSale, "This voucher is no longer on sale.")
	case sale.OutOfStock:
		return nil, refused(OutOfStock, "This voucher is sold out.")
	}
	return nil, fmt.Errorf("place order: unknown result %v of the sale", answer.Result)
}

func alreadyOrdered() apierror.UserErrors {
	return refused(AlreadyOrdered, "You already ordered this voucher.")
}

// queued returns an order that the sale has admitted.
func (w placement) queued(a sale.Response, now time.Time) *Order {
	at := a.At
	if at.IsZero() {
		at = now
	}
	v := w.voucher
	return &Order{
		ID: a.Order, UserID: w.user, VoucherID: v.ID, ShopID: v.ShopID, Status: Queued, PayValue: v.Price,
		CreatedAt: at.Truncate(time.Millisecond),
	}
}

// stored returns an order that the sale has just stored. It equals its row, except for the terms.
func (w placement) stored(a sale.Response) *Order {
	o := w.queued(a, a.At)
	o.Status, o.Version, o.PayBefore, o.TermsUnknown = Unpaid, 1, &a.PayBefore, true
	return o
}

// decided returns the order of a sale's answer: its row, or a queued order if there is no row.
func (s *Service) decided(ctx context.Context, w placement, a sale.Response) (*Order, error) {
	found, err := s.find(ctx, []int64{a.Order})
	if err != nil {
		return nil, err
	}
	if o := found[a.Order]; o != nil {
		return o, nil
	}
	return w.queued(a, s.now()), nil
}

// failed returns the tombstone of a failed order. If the reason is another live order of the
// user, it returns that order.
func (s *Service) failed(ctx context.Context, w placement, a sale.Response) (*Order, error) {
	order, err := s.decided(ctx, w, a)
	if err != nil {
		return nil, err
	}
	if order.FailureCode == AlreadyOrdered {
		other, err := s.liveOrder(ctx, w.user, w.voucher.ID)
		if err != nil {
			return nil, err
		}
		if other != nil {
			return other, alreadyOrdered()
		}
	}
	if order.Status == Queued { // decided, but its row is not visible yet
		order = w.queued(a, s.now())
		order.Status, order.FailureCode = Failed, NotCompleted
	}
	if order.FailureCode == OutOfStock {
		return order, refused(OutOfStock, "This voucher is sold out.")
	}
	return order, refused(NotCompleted, "The order was not completed. Please order again.")
}

// find returns orders by number: rows, and orders that wait for their commit. It also finds an
// order that is committed during the call.
func (s *Service) find(ctx context.Context, ids []int64) (map[int64]*Order, error) {
	rows, err := s.rows.GetMany(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d orders: %w", len(ids), err)
	}
	found := cache.Pointers(rows)
	missing := without(ids, found)
	if len(missing) == 0 {
		return found, nil
	}
	queued, err := s.cfg.Sales.Entries(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("find %d queued orders: %w", len(missing), err)
	}
	maps.Copy(found, queued)
	if missing = without(missing, queued); len(missing) == 0 {
		return found, nil
	}
	again, err := s.loadOrders(ctx, missing) // they may have been committed since the first read
	if err != nil {
		return nil, err
	}
	maps.Copy(found, cache.Pointers(again))
	return found, nil
}

func without(ids []int64, found map[int64]*Order) (missing []int64) {
	for _, id := range ids {
		if found[id] == nil {
			missing = append(missing, id)
		}
	}
	return missing
}
