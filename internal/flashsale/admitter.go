package flashsale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/sale"

	_ "embed" // scripts

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/admit.lua
	admitLua string
	//go:embed lua/reserve.lua
	reserveLua string
	//go:embed lua/release.lua
	releaseLua string
	//go:embed lua/open.lua
	openLua string
	//go:embed lua/edit.lua
	editLua string
	//go:embed lua/lower.lua
	lowerLua string
	//go:embed lua/restore.lua
	restoreLua string
	//go:embed lua/settle.lua
	settleLua string
	//go:embed lua/count.lua
	countLua string
	//go:embed lua/trim.lua
	trimLua string
	//go:embed lua/tidy.lua
	tidyLua string

	admitScript   = redis.NewScript(admitLua)
	reserveScript = redis.NewScript(reserveLua)
	releaseScript = redis.NewScript(releaseLua)
	openScript    = redis.NewScript(openLua)
	editScript    = redis.NewScript(editLua)
	lowerScript   = redis.NewScript(lowerLua)
	restoreScript = redis.NewScript(restoreLua)
	settleScript  = redis.NewScript(settleLua)
	countScript   = redis.NewScript(countLua)
	trimScript    = redis.NewScript(trimLua)
	tidyScript    = redis.NewScript(tidyLua)
)

const (
	group              = "orders"               // consumer group of each partition's stream
	orderLife          = 24 * time.Hour         // TTL of the entry of an order and of idempotency keys
	queuedLife         = 10 * time.Minute       // TTL of a user's list of queued orders
	maxQueued          = 1000                   // members of that list
	soldOutLife        = 200 * time.Millisecond // how long a process remembers that a sale is sold out
	maxPipelineBuckets = 2000                   // buckets counted in one pipeline; Redis needs some milliseconds for them
	chunkSize          = 500                    // orders of one script call, commands of one pipeline
	stuckAfter         = 200 * time.Millisecond // age at which an undecided entry stops delaying the deletion of later entries
	tripTimeout        = 2 * time.Second        // of one round trip, with the retry of the client
)

// Limits of shared round trips of admissions.
const (
	maxTrips     = 4   // in parallel
	tripBacklog  = 16  // waiting admissions that start another one
	maxTripCalls = 128 // per round trip: all of them wait for its end
	maxTripQueue = 2000
)

// code is a reply of admit.lua.
type code string

const (
	admitted   code = "admitted" // decision.order is the number of the request
	held       code = "held"     // the user has decision.order
	repeated   code = "repeated" // the client's key made decision.order before
	notStarted code = "not_started"
	ended      code = "ended"
	offSale    code = "off_sale"
	outOfStock code = "out_of_stock"
	busy       code = "busy"     // too many orders wait for their commit
	noState    code = "no_state" // meta, stock or marker is missing, or the marker is of another incarnation
)

// Replies of the scripts that edit a sale.
const (
	replyDone     = "done"
	replyRefused  = "refused"  // too few units are left, or a later edit exists
	replyMissing  = "missing"  // no meta or stock
	replyComplete = "complete" // open.lua changed nothing
)

// admission is a request with the number for its order.
type admission struct {
	sale.Request
	order  int64
	queued string // full key of the user's queued orders; "" for none
}

// decision is the reply to an admission.
type decision struct {
	code    code
	order   int64     // see the codes; otherwise 0
	at      time.Time // time of admission by the clock of Redis; zero if unknown
	backlog int       // length of the partition's stream, this order included
}

// admitter decides admissions in Redis and edits the sales there. It is safe for concurrent use.
type admitter struct {
	sale       redis.UniversalClient // for admissions; connects to certified servers only
	state      redis.UniversalClient // for all other commands
	keys       keys
	partitions int
	backlog    int
	certs      *certificates
	batcher    *admissions

	mu      sync.Mutex
	soldOut map[int64]time.Time // time of the last out_of_stock by voucher
}

// errNoState reports an operation on a sale that is incomplete in Redis.
var errNoState = errors.New("sale is incomplete in Redis")

// expected returns the certified marker of a partition, or "" without a certificate.
func (g *admitter) expected(partition int) string { return g.certs.expected(partition) }

// admit requests a unit, in a round trip shared with other admissions.
//
// If the error has a method Unsent that returns true, Redis did not receive the request. The
// exception is errUncertified when a certificate existed before: Redis may have received a
// first attempt.
func (g *admitter) admit(ctx context.Context, a admission) (decision, error) {
	marker := g.expected(a.Partition)
	if marker == "" {
		return decision{}, fmt.Errorf("admit user %d to voucher %d: %w", a.UserID, a.VoucherID, errUncertified)
	}
	keys, args := g.admission(a, marker)
	unlikely := g.recentlySoldOut(a.VoucherID)
	cmd, err := g.batcher.Join(ctx, admitCall{keys, args, a, !unlikely && a.queued != ""})
	if err != nil {
		return decision{}, fmt.Errorf("admit user %d to voucher %d: %w", a.UserID, a.VoucherID, err)
	}
	v, err := readDecision(cmd, a.order)
	if err != nil {
		return decision{}, fmt.Errorf("admit user %d to voucher %d: %w", a.UserID, a.VoucherID, err)
	}
	switch {
	case v.code == outOfStock:
		g.markSoldOut(a.VoucherID)
	case v.code == admitted && unlikely && a.queued != "":
		ctx, cancel := context.WithTimeout(ctx, tripTimeout)
		defer cancel()
		pipe := g.sale.Pipeline()
		queue(ctx, pipe, a)
		_, _ = pipe.Exec(ctx)
	case v.code == noState:
		g.certs.markIncomplete(a.VoucherID)
	}
	return v, nil
}

// admission returns the arguments of admit.lua.
func (g *admitter) admission(a admission, marker string) (keys []string, args []any) {
	at := location{a.VoucherID, a.Partition, a.Buckets}
	keys = []string{
		g.keys.open(a.Partition), g.keys.meta(a.Partition, a.VoucherID), g.keys.stock(a.Partition, a.VoucherID),
		g.keys.bucket(a.Partition, a.VoucherID, at.bucketOf(a.UserID)), g.keys.order(a.order), g.keys.orders(a.Partition),
	}
	if a.Key != "" {
		keys = append(keys, g.keys.idem(a.Partition, a.Key))
	}
	return keys, []any{
		marker, a.UserID, decimal(a.order), a.VoucherID, a.ShopID, a.Price, g.backlog, a.Key, int(orderLife.Seconds()),
	}
}

// AdmitArgs returns the arguments of admit.lua for a request and an order number, for programs
// that measure the script. It changes nothing.
func (s *Service) AdmitArgs(t sale.Request, number int64) (script string, keys []string, args []any) {
	keys, args = s.admitter.admission(admission{Request: t, order: number}, s.admitter.expected(t.Partition))
	return admitLua, keys, args
}

// admissions batches concurrent admissions into round trips.
type admissions = batch.Batcher[admitCall, *redis.Cmd]

// admitCall is one run of admit.lua.
type admitCall struct {
	keys []string
	args []any
	admission
	lists bool // adds the order to the user's queued orders in the same pipeline
}

// errTooManyAdmissions is returned when too many admissions wait. It does not mean that Redis
// is unavailable.
var errTooManyAdmissions = errors.New("too many admissions are waiting")

// unsentError reports that a context ended before its admission was sent.
type unsentError struct{ error }

func (unsentError) Unsent() bool { return true }

func (e unsentError) Unwrap() error { return e.error }

// newAdmissions returns a batcher of round trips. Join returns when its context ends, and its
// error reports whether Redis may have received the admission.
func newAdmissions(run batch.Run[admitCall, *redis.Cmd]) *admissions {
	return batch.New(run, batch.Config{
		Max: maxTripCalls, MaxWaiting: maxTripQueue, Groups: maxTrips, Backlog: tripBacklog, Timeout: tripTimeout,
		Leave: true, Busy: errTooManyAdmissions, Withdrawn: func(err error) error { return unsentError{err} },
		Shared: func(error) bool { return true }, // never send an admission twice
	})
}

// admitAll sends admissions in one pipeline. Each has its own reply and error.
func (g *admitter) admitAll(ctx context.Context, calls []*batch.Call[admitCall, *redis.Cmd]) (func(), error) {
	pipe := g.sale.Pipeline()
	for _, c := range calls {
		c.Out = admitScript.EvalSha(ctx, pipe, c.In.keys, c.In.args...)
		if c.In.lists {
			queue(ctx, pipe, c.In.admission)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error; a lost list entry is harmless, because orders are found by number
	for _, c := range calls {
		if redis.HasErrorPrefix(c.Out.Err(), "NOSCRIPT") {
			c.Out = admitScript.Eval(ctx, pipe, c.In.keys, c.In.args...)
		}
	}
	if pipe.Len() > 0 {
		_, _ = pipe.Exec(ctx)
	}
	return nil, nil
}

func queue(ctx context.Context, pipe redis.Pipeliner, a admission) {
	pipe.ZAdd(ctx, a.queued, redis.Z{Score: float64(time.Now().UnixMilli()), Member: decimal(a.order)})
	pipe.ZRemRangeByRank(ctx, a.queued, 0, -maxQueued-1)
	pipe.Expire(ctx, a.queued, queuedLife)
}

func readDecision(cmd *redis.Cmd, own int64) (decision, error) {
	reply, answered := cmd.Val().([]any) // a reply counts even if a later command of the pipeline failed
	if !answered {
		_, err := cmd.Slice()
		return decision{}, err
	}
	var err error
	if len(reply) != 4 {
		return decision{}, fmt.Errorf("invalid reply of admit.lua: %d values", len(reply))
	}
	text, _ := reply[0].(string)
	backlog, _ := reply[3].(int64)
	v := decision{code: code(text), backlog: int(backlog)}
	if text, _ := reply[1].(string); text != "" {
		if v.order, err = strconv.ParseInt(text, 10, 64); err != nil {
			return decision{}, fmt.Errorf("invalid order in reply of admit.lua: %w", err)
		}
	}
	if text, _ := reply[2].(string); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return decision{}, fmt.Errorf("invalid time in reply of admit.lua: %w", err)
		}
		v.at = time.UnixMilli(ms)
	}
	switch v.code {
	case admitted, held, notStarted, ended, offSale, outOfStock, busy, noState:
	case repeated:
		if v.order == own {
			v.code = admitted // the first call was admitted, and the order was released since
		}
	default:
		return decision{}, fmt.Errorf("unknown code %q of admit.lua", text)
	}
	return v, nil
}

func (g *admitter) recentlySoldOut(voucher int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.soldOut[voucher]
	return ok && time.Since(at) < soldOutLife
}

func (g *admitter) markSoldOut(voucher int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.soldOut) >= chunkSize { // rare: so many sales at the same time
		clear(g.soldOut)
	}
	g.soldOut[voucher] = time.Now()
}

func (g *admitter) clearSoldOut(voucher int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.soldOut, voucher)
}

// reserve adds buyers without an order of the sale and returns how many. It is idempotent.
func (g *admitter) reserve(ctx context.Context, at location, holds []sale.Reservation) (moved int, err error) {
	return g.move(ctx, reserveScript, "reserve", at, holds)
}

// release removes buyers with exactly these orders and returns how many. It is idempotent.
func (g *admitter) release(ctx context.Context, at location, holds []sale.Reservation) (moved int, err error) {
	moved, err = g.move(ctx, releaseScript, "release", at, holds)
	if moved > 0 {
		g.clearSoldOut(at.voucher)
	}
	return moved, err
}

func (g *admitter) move(ctx context.Context, s *redis.Script, what string, at location, holds []sale.Reservation) (moved int, err error) {
	buckets := map[int][]any{}
	for _, h := range holds {
		i := at.bucketOf(h.User)
		buckets[i] = append(buckets[i], h.User, decimal(h.Order))
	}
	var calls []call
	for i, all := range buckets {
		for args := range slices.Chunk(all, 2*chunkSize) {
			calls = append(calls, call{[]string{g.keys.stock(at.partition, at.voucher), g.keys.bucket(at.partition, at.voucher, i)}, args})
		}
	}
	for _, cmd := range g.run(ctx, s, calls) {
		n, e := cmd.Int()
		if e != nil {
			err = fmt.Errorf("%s %d orders of voucher %d in Redis: %w", what, len(holds), at.voucher, e)
			continue
		}
		moved += n
	}
	return moved, err
}

// version is the state of a sale in its row.
type version struct {
	location
	initial    int
	begin, end int64 // milliseconds
	on         bool
	seq        int64 // of the last edit
}

func (v version) args() []any {
	on := "0"
	if v.on {
		on = "1"
	}
	return []any{v.initial, v.begin, v.end, on, v.seq}
}

// open sets meta and stock of a sale whose buyers are in Redis. It returns false if the sale is
// complete.
func (g *admitter) open(ctx context.Context, v version) (opened bool, err error) {
	reply, err := g.one(ctx, openScript, g.keys.ofSale(v.location), v.args()...).Text()
	if err != nil {
		return false, fmt.Errorf("open sale %d in Redis: %w", v.voucher, err)
	}
	return reply == replyDone, nil
}

// edit updates sales to versions. With force it also reverts later edits. It returns the
// versions of sales that are incomplete in Redis.
func (g *admitter) edit(ctx context.Context, force bool, all ...version) (incomplete []version, err error) {
	calls := make([]call, len(all))
	for i, v := range all {
		forced := "0"
		if force {
			forced = "1"
		}
		calls[i] = call{g.keys.ofSale(v.location)[:2], append(v.args(), forced)}
	}
	for i, cmd := range g.run(ctx, editScript, calls) {
		reply, e := cmd.Text()
		switch {
		case e != nil:
			err = errors.Join(err, fmt.Errorf("edit sale %d in Redis: %w", all[i].voucher, e))
		case reply == replyMissing:
			incomplete = append(incomplete, all[i])
		default:
			g.clearSoldOut(all[i].voucher)
		}
	}
	return incomplete, err
}

// lower takes units out of a sale. It returns false if fewer are left, and errNoState if the
// sale is incomplete.
func (g *admitter) lower(ctx context.Context, at location, by int, edit int64) (bool, error) {
	reply, err := g.one(ctx, lowerScript, g.keys.ofSale(at)[:2], by, edit).Text()
	if err == nil && reply == replyMissing {
		err = errNoState
	}
	if err != nil {
		return false, fmt.Errorf("lower stock of sale %d in Redis: %w", at.voucher, err)
	}
	return reply == replyDone, nil
}

// restore reverts lower for an edit.
func (g *admitter) restore(ctx context.Context, at location, by int, edit int64) error {
	reply, err := g.one(ctx, restoreScript, g.keys.ofSale(at)[:2], by, edit).Text()
	if err == nil && reply == replyMissing {
		err = errNoState
	}
	if err != nil {
		return fmt.Errorf("restore stock of sale %d in Redis: %w", at.voucher, err)
	}
	g.clearSoldOut(at.voucher)
	return nil
}

// settle sets the stock to the initial stock less the buyers. It returns the old stock's excess.
func (g *admitter) settle(ctx context.Context, at location) (drift int, err error) {
	text, err := g.one(ctx, settleScript, g.keys.ofSale(at)).Text()
	if err == nil && text == "" {
		err = errNoState
	}
	if err == nil {
		drift, err = strconv.Atoi(text)
	}
	if err != nil {
		return 0, fmt.Errorf("finish sale %d in Redis: %w", at.voucher, err)
	}
	return drift, nil
}

// stockCount holds the counters of a sale in Redis at one moment.
type stockCount struct {
	complete               bool // meta and stock exist
	buyers, stock, initial int
	seq                    int64
	err                    error // the sale could not be counted
}

// count counts sales, in pipelines of up to 500 sales and about 2000 buckets. Each sale has its
// own error.
func (g *admitter) count(ctx context.Context, all []location) []stockCount {
	cmds := make([]*redis.Cmd, 0, len(all))
	var part []call
	buckets := 0
	for i, at := range all {
		part = append(part, call{keys: g.keys.ofSale(at)})
		if buckets += at.buckets; buckets >= maxPipelineBuckets || len(part) == chunkSize || i == len(all)-1 {
			cmds = append(cmds, g.send(ctx, countScript, part)...)
			part, buckets = nil, 0
		}
	}
	counts := make([]stockCount, len(all))
	for i, cmd := range cmds {
		n, err := cmd.Int64Slice()
		if err == nil && len(n) != 5 {
			err = fmt.Errorf("invalid reply of count.lua: %d values", len(n))
		}
		if err != nil {
			counts[i].err = fmt.Errorf("count sale %d in Redis: %w", all[i].voucher, err)
			continue
		}
		counts[i] = stockCount{complete: n[0] == 1, buyers: int(n[1]), stock: int(n[2]), initial: int(n[3]), seq: n[4]}
	}
	return counts
}

// entries returns the entries of orders without a row. It omits orders that Redis does not have.
func (g *admitter) entries(ctx context.Context, orders []int64) (map[int64]*Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	found := make(map[int64]*Entry, len(orders))
	for part := range slices.Chunk(orders, chunkSize) {
		cmds := make(map[int64]*redis.SliceCmd, len(part))
		pipe := g.state.Pipeline()
		for _, order := range part {
			if sequence.Partition(order) < g.partitions {
				cmds[order] = pipe.HMGet(ctx, g.keys.order(order), "v", "u", "s", "p", "t")
			}
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for order, cmd := range cmds {
			values, err := cmd.Result()
			if err != nil {
				return nil, fmt.Errorf("read entries of orders from Redis: %w", err)
			}
			if e := readEntry(order, values); e != nil {
				found[order] = e
			}
		}
	}
	return found, nil
}

// readEntry returns nil if the entry is missing or incomplete.
func readEntry(order int64, values []any) *Entry {
	var n [5]int64
	for i := range n {
		text, _ := values[i].(string)
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil
		}
	}
	return &Entry{Order: order, Voucher: n[0], User: n[1], Shop: n[2], Price: int(n[3]), At: time.UnixMilli(n[4])}
}

// done acknowledges and deletes stream entries, and deletes the entries of decided orders.
func (g *admitter) done(ctx context.Context, partition int, ids []string, orders []int64) error {
	if len(ids)+len(orders) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	names := make([]string, len(orders))
	for i, order := range orders {
		names[i] = g.keys.order(order)
	}
	if len(ids) == 0 {
		if err := g.state.Unlink(ctx, names...).Err(); err != nil {
			return fmt.Errorf("delete entries of %d orders of partition %d: %w", len(orders), partition, err)
		}
		return nil
	}
	args := []any{group, stuckAfter.Milliseconds()}
	for _, id := range ids {
		args = append(args, id)
	}
	keys := append([]string{g.keys.orders(partition)}, names...)
	if err := g.one(ctx, trimScript, keys, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("acknowledge %d entries of partition %d: %w", len(ids), partition, err)
	}
	return nil
}

// removeIdleConsumers removes consumers without entries that have been idle for at least idle.
func (g *admitter) removeIdleConsumers(ctx context.Context, idle time.Duration) error {
	calls := make([]call, g.partitions)
	for p := range calls {
		calls[p] = call{[]string{g.keys.orders(p)}, []any{group, idle.Milliseconds()}}
	}
	var failed []error
	for p, cmd := range g.run(ctx, tidyScript, calls) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, fmt.Errorf("remove idle consumers of partition %d: %w", p, err))
		}
	}
	return errors.Join(failed...)
}

// call is one run of a script.
type call struct {
	keys []string
	args []any
}

// run runs a script for all calls, at most 500 per round trip, and returns one command for
// each. For a server without the script, it repeats the affected calls with the text.
func (g *admitter) run(ctx context.Context, s *redis.Script, calls []call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, 0, len(calls))
	for part := range slices.Chunk(calls, chunkSize) {
		cmds = append(cmds, g.send(ctx, s, part)...)
	}
	return cmds
}

func (g *admitter) one(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	return g.run(ctx, s, []call{{keys, args}})[0]
}

func (g *admitter) send(ctx context.Context, s *redis.Script, calls []call) []*redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	cmds := make([]*redis.Cmd, len(calls))
	pipe := g.state.Pipeline()
	for i, c := range calls {
		cmds[i] = s.EvalSha(ctx, pipe, c.keys, c.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			cmds[i] = s.Eval(ctx, pipe, calls[i].keys, calls[i].args...)
		}
	}
	if pipe.Len() > 0 {
		_, _ = pipe.Exec(ctx)
	}
	return cmds
}
