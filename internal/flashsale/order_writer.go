package flashsale

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/sale"
)

// maxBatch is the maximum number of orders in one transaction. A larger batch saves nothing per
// row, and its callers wait longer for each other.
const maxBatch = 500

// Time limits of a commit. A hanging statement must end before its orders are presumed lost
// ([presumeAfter]). If it ends later anyway, it finds their tombstones.
const (
	statementTimeout = 4 * time.Second
	commitTimeout    = 5 * time.Second
)

// Codes of tombstones. Package order has their messages.
const (
	codeNotCompleted   = "ORDER_NOT_COMPLETED"
	codeOutOfStock     = "OUT_OF_STOCK"
	codeAlreadyOrdered = "ALREADY_ORDERED"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the files in sql for one dialect.
type statements struct {
	commit, conflicts, tombstone, restock, stockCounts string
	take                                               string // SQLite only: the Postgres commit includes it
	timeout                                            string // Postgres only
}

func loadStatements(dialect string) (statements, error) {
	var s statements
	texts := map[string]*string{"commit": &s.commit, "conflicts": &s.conflicts, "tombstone": &s.tombstone, "restock": &s.restock, "stock_counts": &s.stockCounts}
	if dialect == "sqlite3" {
		texts["take"] = &s.take
	} else {
		s.timeout = fmt.Sprintf("SET LOCAL statement_timeout = %d", statementTimeout.Milliseconds())
	}
	if err := sqldb.ReadStatements(sqlFiles, dialect, texts); err != nil {
		return statements{}, fmt.Errorf("read statements of flash sales: %w", err)
	}
	return s, nil
}

// orderWriter stores orders in the database.
type orderWriter struct {
	db        *ent.Client
	sql       statements
	orders    Orders
	payWithin time.Duration
	m         *writerMetrics

	// bypassed adds jobs to the transaction that reserve bypassed orders in Redis.
	bypassed func(ctx context.Context, tx outbox.Execer, orders []int64) ([]outbox.JobRef, error)
}

// attempt is an order to be stored.
type attempt struct {
	Entry
	key string // digest of the idempotency key; "" for none

	// direct: Redis did not admit the order, so the statement checks window and status.
	direct bool

	// final: the number may be in a stream or known to a client. It becomes a row in any case,
	// so a refused number never becomes an order.
	final bool
}

// outcome is the decision about an attempt.
type outcome struct {
	Decided               // valid if row
	row       bool        // the number has a row: an order or a tombstone
	fresh     bool        // this commit inserted the row
	result    sale.Result // Stored, Failed, or the refusal
	other     int64       // order of Held and Repeated
	duplicate bool        // the row is another user's: the number was issued twice
}

// committed holds the outcomes of a batch, in its order.
type committed struct {
	outcomes []outcome
	jobs     []outbox.JobRef // jobs of Orders for the inserted rows
	bypassed []outbox.JobRef // jobs that reserve bypassed orders
}

var errUndecided = errors.New("other transactions keep changing the same orders")

// commit decides at most [maxBatch] attempts in one transaction. It stores all possible orders
// and lowers the stock. The others are refused, and the final ones among them get tombstones.
// It is idempotent: an existing row is the answer.
//
// After an error nothing is decided, or the decision is unknown: repeat the call. [isData]
// reports whether the batch itself is bad.
func (l *orderWriter) commit(ctx context.Context, batch []attempt) (committed, error) {
	ctx, cancel := context.WithTimeout(sqldb.Prepared(ctx), commitTimeout) // its statements have fixed texts
	defer cancel()
	begin := time.Now()
	done, err := l.commitOnce(ctx, batch)
	if sqldb.Retryable(err) { // the other transaction of a deadlock has ended
		done, err = l.commitOnce(ctx, batch)
	}
	if err != nil {
		l.m.failed.Inc()
		return committed{}, fmt.Errorf("commit %d orders of flash sales: %w", len(batch), err)
	}
	l.count(done.outcomes, time.Since(begin))
	return done, nil
}

func (l *orderWriter) commitOnce(ctx context.Context, batch []attempt) (done committed, err error) {
	err = l.tx(ctx, func(tx *ent.Tx) (err error) {
		if done.outcomes, err = l.decide(ctx, tx, batch); err != nil {
			return err
		}
		if done.bypassed, err = l.enqueueBypassed(ctx, tx, batch, done.outcomes); err != nil {
			return err
		}
		done.jobs, err = l.enqueueJobs(ctx, tx, done.outcomes)
		return err
	})
	return done, err
}

// tx runs work in a transaction with a server-side statement timeout. If the server is
// unreachable, the end of ctx does not end a statement.
func (l *orderWriter) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTx(ctx, l.db, func(tx *ent.Tx) error {
		if l.sql.timeout != "" {
			if _, err := tx.ExecContext(ctx, l.sql.timeout); err != nil {
				return fmt.Errorf("set statement timeout: %w", err)
			}
		}
		return recoverPanic(tx, work)
	})
}

// recoverPanic turns a panic of work into an error. No caller recovers, so the process would end.
func recoverPanic(tx *ent.Tx, work func(*ent.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError{p}
		}
	}()
	return work(tx)
}

// panicError is a panic. [isData] treats it like data that the database rejects.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (l *orderWriter) enqueueJobs(ctx context.Context, tx outbox.Execer, outcomes []outcome) ([]outbox.JobRef, error) {
	var ids []int64
	for _, o := range outcomes {
		if o.fresh {
			ids = append(ids, o.Order)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return l.orders.EnqueueJobs(ctx, tx, ids)
}

func (l *orderWriter) enqueueBypassed(ctx context.Context, tx outbox.Execer, batch []attempt, outcomes []outcome) ([]outbox.JobRef, error) {
	var ids []int64
	for i, o := range outcomes {
		if o.fresh && o.result == sale.Stored && batch[i].direct {
			ids = append(ids, o.Order)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return l.bypassed(ctx, tx, ids)
}

// passes is the maximum number of passes of decide. The second one sees orders that were stored
// while the first waited for its locks. Later passes see new tombstones.
const passes = 4

func (l *orderWriter) decide(ctx context.Context, tx outbox.Execer, batch []attempt) ([]outcome, error) {
	outcomes := make([]outcome, len(batch))
	left := make([]int, len(batch)) // positions in batch
	for i := range batch {
		left[i] = i
	}
	for range passes {
		var err error
		if left, err = l.store(ctx, tx, batch, left, outcomes); err != nil {
			return nil, fmt.Errorf("insert orders: %w", err)
		}
		if len(left) == 0 {
			return outcomes, nil
		}
		var refused []int
		if left, refused, err = l.findConflicts(ctx, tx, batch, left, outcomes); err != nil {
			return nil, fmt.Errorf("read conflicts of %d orders: %w", len(left), err)
		}
		lost, err := l.insertRefused(ctx, tx, batch, refused, outcomes)
		if err != nil {
			return nil, fmt.Errorf("insert tombstones: %w", err)
		}
		if left = append(left, lost...); len(left) == 0 {
			return outcomes, nil
		}
	}
	return nil, errUndecided
}

// input is one row of the JSON argument of the statements.
type input struct {
	N       int     `json:"n"`
	ID      int64   `json:"id"`
	User    int64   `json:"user"`
	Voucher int64   `json:"voucher"`
	Shop    int64   `json:"shop"`
	Price   int     `json:"price"`
	At      int64   `json:"at"`
	Key     *string `json:"key"`
	Direct  bool    `json:"direct"`
	Code    string  `json:"code,omitempty"`
}

func (a *attempt) input(n int) input {
	in := input{N: n, ID: a.Order, User: a.User, Voucher: a.Voucher, Shop: a.Shop, Price: a.Price, At: millis(a.At), Direct: a.direct}
	if a.key != "" {
		in.Key = &a.key
	}
	return in
}

func inputs(batch []attempt, of []int) (string, error) {
	list := make([]input, len(of))
	for i, n := range of {
		list[i] = batch[n].input(n)
	}
	return asJSON(list)
}

func asJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// store inserts the possible orders and returns the rest.
func (l *orderWriter) store(ctx context.Context, tx outbox.Execer, batch []attempt, left []int, outcomes []outcome) ([]int, error) {
	text, err := inputs(batch, left)
	if err != nil {
		return nil, err
	}
	stored, err := stampsOf(ctx, tx, l.sql.commit, text, l.payWithin.Milliseconds())
	if err != nil {
		return nil, err
	}
	var rest []int
	taken := map[int64]int{}
	for _, n := range left {
		a := &batch[n]
		got, ok := stored[a.Order]
		if !ok {
			rest = append(rest, n)
			continue
		}
		delete(stored, a.Order) // a second attempt with this number finds the row
		taken[a.Voucher]++
		outcomes[n] = outcome{Decided: a.decided(got.at, ""), row: true, fresh: true, result: sale.Stored}
		outcomes[n].PayBefore = got.payBefore
	}
	if l.sql.take == "" || len(taken) == 0 {
		return rest, nil
	}
	return rest, changeStock(ctx, tx, l.sql.take, taken)
}

func (a *attempt) decided(at time.Time, failure string) Decided {
	return Decided{Order: a.Order, User: a.User, Voucher: a.Voucher, At: at, Failure: failure}
}

// changeStock runs a statement that takes units out of sales or returns them.
func changeStock(ctx context.Context, tx outbox.Execer, statement string, byVoucher map[int64]int) error {
	type change struct {
		Voucher int64 `json:"voucher"`
		N       int   `json:"n"`
	}
	var list []change
	for v, n := range byVoucher {
		list = append(list, change{v, n})
	}
	text, err := asJSON(list)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, statement, text)
	return err
}

// conflict is the reason why an attempt was not stored.
type conflict struct {
	n                 int
	sale              string // refusal by sale and clock, see sql/conflicts
	stock             int
	user, voucher, at sql.NullInt64 // of the row with its number
	status, failure   sql.NullString
	holder, repeated  sql.NullInt64
}

// findConflicts reads why attempts were not stored. again has those without a conflict by now,
// refused those that need tombstones.
func (l *orderWriter) findConflicts(ctx context.Context, tx outbox.Execer, batch []attempt, left []int, outcomes []outcome) (again, refused []int, err error) {
	text, err := inputs(batch, left)
	if err != nil {
		return nil, nil, err
	}
	err = sqldb.Each(ctx, tx, l.sql.conflicts, []any{text}, func(rows *sql.Rows) error {
		var f conflict
		err := rows.Scan(&f.n, &f.sale, &f.stock, &f.user, &f.voucher, &f.status, &f.failure, &f.at, &f.holder, &f.repeated)
		if err != nil {
			return err
		}
		o := f.outcome(&batch[f.n])
		switch {
		case o.result == 0:
			again = append(again, f.n)
		case !o.row && batch[f.n].final:
			refused = append(refused, f.n)
		}
		outcomes[f.n] = o
		return nil
	})
	return again, refused, err
}

// outcome returns the outcome of a conflict. Its result is 0 without a conflict.
func (f conflict) outcome(a *attempt) outcome {
	switch {
	case f.status.Valid:
		return f.row(a)
	case f.repeated.Valid && a.direct:
		return outcome{result: sale.Repeated, other: f.repeated.Int64}
	case f.holder.Valid:
		return outcome{result: sale.Held, other: f.holder.Int64}
	case f.repeated.Valid:
		return outcome{result: sale.Repeated, other: f.repeated.Int64}
	case f.sale == "none", a.direct && f.sale == "off":
		return outcome{result: sale.OffSale}
	case a.direct && f.sale == "early":
		return outcome{result: sale.NotStarted}
	case a.direct && f.sale == "late":
		return outcome{result: sale.Ended}
	case f.stock <= 0:
		return outcome{result: sale.OutOfStock}
	}
	return outcome{}
}

func (f conflict) row(a *attempt) outcome {
	if f.user.Int64 != a.User || f.voucher.Int64 != a.Voucher {
		return outcome{duplicate: true, row: true, result: sale.Failed}
	}
	o := outcome{Decided: a.decided(timeOf(f.at.Int64), f.failure.String), row: true, result: sale.Stored}
	if f.status.String == statusFailed {
		o.result = sale.Failed
	}
	return o
}

const statusFailed = "FAILED"

// insertRefused inserts tombstones for refused attempts. It returns those whose numbers got
// rows meanwhile.
func (l *orderWriter) insertRefused(ctx context.Context, tx outbox.Execer, batch []attempt, refused []int, outcomes []outcome) (lost []int, err error) {
	if len(refused) == 0 {
		return nil, nil
	}
	list := make([]input, len(refused))
	for i, n := range refused {
		list[i] = batch[n].input(n)
		list[i].Code = failureCode(outcomes[n].result)
	}
	inserted, err := l.insertTombstones(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	for _, n := range refused {
		a, o := &batch[n], &outcomes[n]
		got, ok := inserted[a.Order]
		if !ok {
			lost = append(lost, n)
			continue
		}
		delete(inserted, a.Order)
		o.Decided, o.row, o.fresh = a.decided(got.at, failureCode(o.result)), true, true
		if !a.direct {
			o.result = sale.Failed
		}
	}
	return lost, nil
}

func (l *orderWriter) insertTombstones(ctx context.Context, tx outbox.Execer, list []input) (map[int64]stamps, error) {
	text, err := asJSON(list)
	if err != nil {
		return nil, err
	}
	return stampsOf(ctx, tx, l.sql.tombstone, text)
}

func failureCode(r sale.Result) string {
	switch r {
	case sale.OutOfStock:
		return codeOutOfStock
	case sale.Held:
		return codeAlreadyOrdered
	default:
		return codeNotCompleted
	}
}

// tombstone inserts tombstones for at most [maxBatch] orders and returns the inserted ones. The
// other numbers have rows.
func (l *orderWriter) tombstone(ctx context.Context, entries []Entry) (committed, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	var done committed
	err := l.tx(ctx, func(tx *ent.Tx) error {
		list := make([]input, len(entries))
		for i, e := range entries {
			a := attempt{Entry: e}
			list[i] = a.input(i)
			list[i].Code = codeNotCompleted
		}
		inserted, err := l.insertTombstones(ctx, tx, list)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if got, ok := inserted[e.Order]; ok {
				delete(inserted, e.Order)
				a := attempt{Entry: e}
				done.outcomes = append(done.outcomes, outcome{Decided: a.decided(got.at, codeNotCompleted), row: true, fresh: true, result: sale.Failed})
			}
		}
		done.jobs, err = l.enqueueJobs(ctx, tx, done.outcomes)
		return err
	})
	if err != nil {
		return committed{}, fmt.Errorf("store tombstones of %d orders: %w", len(entries), err)
	}
	for _, o := range done.outcomes {
		l.m.tombstones.WithLabelValues(o.Failure).Inc()
	}
	return done, nil
}

func (l *orderWriter) count(outcomes []outcome, took time.Duration) {
	l.m.batches.Inc()
	l.m.seconds.Observe(took.Seconds())
	for _, o := range outcomes {
		switch {
		case o.duplicate:
			l.m.duplicates.Inc()
		case !o.fresh:
		case o.Failure != "":
			l.m.tombstones.WithLabelValues(o.Failure).Inc()
		default:
			l.m.rows.Inc()
		}
	}
}

// isData reports whether the data caused a database error, so that a retry cannot succeed.
func isData(err error) bool {
	if _, ok := errors.AsType[panicError](err); ok {
		return true
	}
	if state := sqldb.SQLState(err); state != "" {
		return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") // data exception, constraint violation
	}
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		switch e.Code() & 0xff { // primary result code of SQLite
		case 18, 19, 20: // too big, constraint, mismatch
			return true
		}
	}
	return false
}

type stamps struct{ at, payBefore time.Time }

func stampsOf(ctx context.Context, tx outbox.Execer, statement string, args ...any) (map[int64]stamps, error) {
	all := map[int64]stamps{}
	err := sqldb.Each(ctx, tx, statement, args, func(rows *sql.Rows) error {
		var id, at, payBefore int64
		if err := rows.Scan(&id, &at, &payBefore); err != nil {
			return err
		}
		all[id] = stamps{timeOf(at), timeOf(payBefore)}
		return nil
	})
	return all, err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
