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

// MaxKey is how many characters a client's word for what it wants once may have.
const MaxKey = 64

// triesPerSecond is how often a user may try to order, and how often at once.
const triesPerSecond = 5

// closedFor is how long after its end a sale may be answered for without asking it.
const closedFor = time.Hour

// writeTimeout bounds what one call does to the stores.
const writeTimeout = 5 * time.Second

// Place orders one piece of a voucher for a user. The order is QUEUED, UNPAID or, if
// key made an order within the last day, that one, whatever became of it. key is the
// client's word for what it wants once, over retries; "" is none.
//
// The owner of a shop cannot order its vouchers: such orders would raise the owner's
// points and the sales of the shop.
//
// A refusal is a [fault.UserErrors]. With ALREADY_ORDERED the order that the user
// holds is returned too, and with the reason of a FAILED one that one. Who tries more
// than five times a second gets a [fault.RateLimited]. Any other error means that it
// is not known whether there is an order: repeat it with the same key.
func (s *Service) Place(ctx context.Context, userID, voucherID int64, key string) (*Order, error) {
	return s.PlaceKind(ctx, AnyKind, userID, voucherID, key)
}

// A Kind is one of the two kinds of vouchers.
type Kind int

// All kinds. AnyKind stands for both.
const (
	AnyKind Kind = iota
	Ordinary
	Flash
)

func (k Kind) fits(v *Voucher) bool { return k == AnyKind || (k == Flash) == (v.Sale != nil) }

// PlaceKind is [Service.Place] for a voucher of a kind. A voucher of the other kind is
// not found.
func (s *Service) PlaceKind(ctx context.Context, kind Kind, userID, voucherID int64, key string) (*Order, error) {
	ctx, span := observe.Span(ctx, "order.Place")
	defer span.End()
	if utf8.RuneCountInString(key) > MaxKey {
		return nil, apierror.Refuse(apierror.InvalidInput, fmt.Sprintf("A key has at most %d characters.", MaxKey), "idempotencyKey")
	}
	if wait, ok := s.tries.Allow(decimal(userID)); !ok {
		return nil, apierror.New(apierror.RateLimited, "An order can be tried %d times a second.", triesPerSecond).WithRetryAfter(wait)
	}
	v, err := s.cfg.Vouchers.VoucherByID(ctx, voucherID)
	if errors.Is(err, apierror.ErrNotFound) || err == nil && !kind.fits(v) {
		return nil, apierror.Refuse(apierror.NotFound, "There is no such voucher.", "voucherId")
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

// A placement is what one call of Place wants.
type placement struct {
	user    int64
	voucher *Voucher
	digest  string // of the client's key; "" is none
}

// digest names what a client wants once: for one user and voucher, so that nobody
// finds the orders of others by their keys.
func digest(user, voucher int64, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d:%s", user, voucher, key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Service) grant(ctx context.Context, w placement) (*Order, error) {
	of := w.voucher.Sale
	over := of != nil && of.EndsAt.Add(closedFor).Before(s.now())
	switch {
	case w.voucher.Owner == w.user:
		return s.closed(ctx, w, OwnShop, "You can't buy from your own shop.")
	case of != nil && !over: // taken off it too: the sale may know what the client's key made
		return s.placeFlash(ctx, w)
	case w.voucher.Off:
		return s.closed(ctx, w, OffSale, "This voucher is not on sale any more.")
	case over:
		return s.closed(ctx, w, SaleEnded, "The sale is over.")
	}
	return s.placeOrdinary(ctx, w)
}

// closed refuses what cannot be ordered any more, unless the client's key made an
// order before.
func (s *Service) closed(ctx context.Context, w placement, code apierror.Code, message string) (*Order, error) {
	if first, err := s.byDigest(ctx, w.digest); first != nil || err != nil {
		return first, err
	}
	return nil, refused(code, message)
}

func refused(code apierror.Code, message string) apierror.UserErrors {
	return apierror.Refuse(code, message, "voucherId")
}

// byDigest returns the order that a client's key made, or nil.
func (s *Service) byDigest(ctx context.Context, digest string) (*Order, error) {
	if digest == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	return orNone(s.db.Order.Query().Where(entorder.Idempotency(digest)).Only(ctx))
}

// held returns the live order that a user has of a voucher, or nil.
func (s *Service) held(ctx context.Context, user, voucher int64) (*Order, error) {
	live := func(sel *sql.Selector) { sel.Where(sql.ExprP(schema.LiveOrder)) } // as the index order_live has it
	return orNone(s.db.Order.Query().Where(entorder.VoucherID(voucher), entorder.UserID(user), entorder.OnePerUser(true), live).Only(ctx))
}

func orNone(row *ent.Order, err error) (*Order, error) {
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("select an order: %w", err)
	}
	return fromRow(row), nil
}

// placeFlash lets the sale decide.
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
		return nil, refused(SaleNotStarted, "The sale has not begun yet.")
	case sale.Ended:
		return nil, refused(SaleEnded, "The sale is over.")
	case sale.OffSale:
		return nil, refused(OffSale, "This voucher is not on sale any more.")
	case sale.OutOfStock:
		return nil, refused(OutOfStock, "All pieces are sold.")
	}
	return nil, fmt.Errorf("place order: unknown result %v of the sale", answer.Result)
}

func alreadyOrdered() apierror.UserErrors {
	return refused(AlreadyOrdered, "You have ordered this voucher already.")
}

// queued is an order that the sale has admitted.
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

// stored returns an order that the sale has just stored. It equals its row, except for
// the terms.
func (w placement) stored(a sale.Response) *Order {
	o := w.queued(a, a.At)
	o.Status, o.Version, o.PayBefore, o.TermsUnknown = Unpaid, 1, &a.PayBefore, true
	return o
}

// decided returns the order that a sale answered with: its row, or while there is
// none it is queued.
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

// failed answers with a tombstone. One that was planted because the user holds
// another order is answered with that.
func (s *Service) failed(ctx context.Context, w placement, a sale.Response) (*Order, error) {
	order, err := s.decided(ctx, w, a)
	if err != nil {
		return nil, err
	}
	if order.FailureCode == AlreadyOrdered {
		other, err := s.held(ctx, w.user, w.voucher.ID)
		if err != nil {
			return nil, err
		}
		if other != nil {
			return other, alreadyOrdered()
		}
	}
	if order.Status == Queued { // though it is decided: its row is not to be seen yet
		order = w.queued(a, s.now())
		order.Status, order.FailureCode = Failed, NotCompleted
	}
	if order.FailureCode == OutOfStock {
		return order, refused(OutOfStock, "All pieces are sold.")
	}
	return order, refused(NotCompleted, "The order was not completed. Please order again.")
}

// find returns orders by number: rows, and those that wait for their commit. An order
// that is committed meanwhile is found in one place or the other.
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
		return nil, fmt.Errorf("look for %d queued orders: %w", len(missing), err)
	}
	maps.Copy(found, queued)
	if missing = without(missing, queued); len(missing) == 0 {
		return found, nil
	}
	again, err := s.loadOrders(ctx, missing) // what Redis says of their absence may be older than their commit
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
