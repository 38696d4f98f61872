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

	_ "embed" // the scripts

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
	group              = "orders"               // of consumers, on each partition's stream
	orderLife          = 24 * time.Hour         // of the entry of an order, and of what a client's key made
	queuedLife         = 10 * time.Minute       // of the list of a user's queued orders
	maxQueued          = 1000                   // of its members
	soldOutLife        = 200 * time.Millisecond // that a process remembers that a sale is sold out
	maxPipelineBuckets = 2000                   // counted in one pipeline: some milliseconds of Redis, of which admissions want their share
	chunkSize          = 500                    // orders of one script call, commands of one pipeline
	stuckAfter         = 200 * time.Millisecond // that an entry may be under way to its row before others do not wait for it to be taken out of the stream
	tripTimeout        = 2 * time.Second        // of one round trip, the retry of the client included
)

// Bounds of shared round trips of admissions.
const (
	maxTrips     = 4   // at once
	tripBacklog  = 16  // admissions that start a further one
	maxTripCalls = 128 // in one round trip: all of them wait for its end
	maxTripQueue = 2000
)

// A code is a reply of admit.lua.
type code string

const (
	admitted   code = "admitted" // verdict.order is the caller's own
	held       code = "held"     // the user has verdict.order
	repeated   code = "repeated" // the client's key made verdict.order before
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
	replyRefused  = "refused"  // too few pieces are left, or there was another edit
	replyMissing  = "missing"  // meta or stock
	replyComplete = "complete" // open.lua: nothing was done
)

// An admission is what is asked of the gate: a try, with the number that its order
// would have.
type admission struct {
	sale.Request
	order  int64
	queued string // the whole key of the user's queued orders; "" for none
}

// A decision is what the gate says.
type decision struct {
	code    code
	order   int64     // see the codes; else 0
	at      time.Time // of one that was admitted, by the clock of Redis; zero if it is not known any more
	backlog int       // entries of the partition's stream after this one
}

// admitter is the sale as Redis holds it. Its methods are safe for concurrent use.
type admitter struct {
	sale       redis.UniversalClient // reaches only certified servers: admissions
	state      redis.UniversalClient // everything else
	keys       keys
	partitions int
	backlog    int
	certs      *certificates
	batcher    *admissions

	mu      sync.Mutex
	soldOut map[int64]time.Time // when a voucher was answered so
}

// errNoState is what cannot be done to a sale that is not whole in Redis.
var errNoState = errors.New("the sale is not complete in Redis")

// expected returns the marker that is certified for a partition, "" while there is
// none.
func (g *admitter) expected(partition int) string { return g.certs.expected(partition) }

// admit asks for a piece, in one round trip that it may share with others. If the error has an Unsent() that is
// true, Redis never saw it; unless it is errUncertified although there was a
// certificate before: then a first attempt may have been seen.
func (g *admitter) admit(ctx context.Context, a admission) (decision, error) {
	marker := g.expected(a.Partition)
	if marker == "" {
		return decision{}, fmt.Errorf("admit: %w", errUncertified)
	}
	keys, args := g.admission(a, marker)
	doubtful := g.recentlySoldOut(a.VoucherID)
	cmd, err := g.batcher.Join(ctx, admitCall{keys, args, a, !doubtful && a.queued != ""})
	if err != nil {
		return decision{}, fmt.Errorf("admit: %w", err)
	}
	v, err := readDecision(cmd, a.order)
	if err != nil {
		return decision{}, fmt.Errorf("admit: %w", err)
	}
	switch {
	case v.code == outOfStock:
		g.markSoldOut(a.VoucherID)
	case v.code == admitted && doubtful && a.queued != "":
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

// admission is what admit.lua takes.
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

// Admission is what this process would have Redis run to admit a try under a number,
// for programs that measure what the script costs by itself. It does nothing.
func (s *Service) Admission(t sale.Request, number int64) (script string, keys []string, args []any) {
	keys, args = s.admitter.admission(admission{Request: t, order: number}, s.admitter.expected(t.Partition))
	return admitLua, keys, args
}

// admissions let admissions of one moment share a round trip to Redis.
type admissions = batch.Batcher[admitCall, *redis.Cmd]

// An admitCall is one run of admit.lua.
type admitCall struct {
	keys []string
	args []any
	admission
	lists bool // whether the order joins those that its user waits for, right behind the script
}

// errTooManyAdmissions is returned when too many admissions wait. It does not blame Redis.
var errTooManyAdmissions = errors.New("too many admissions wait for Redis")

// unsentError is the end of a context whose admission was not sent.
type unsentError struct{ error }

func (unsentError) Unsent() bool { return true }

func (e unsentError) Unwrap() error { return e.error }

// newAdmissions returns a batcher of round trips. Its callers return when their contexts end.
// The error says whether Redis may have seen the admission.
func newAdmissions(run batch.Run[admitCall, *redis.Cmd]) *admissions {
	return batch.New(run, batch.Config{
		Max: maxTripCalls, MaxWaiting: maxTripQueue, Groups: maxTrips, Backlog: tripBacklog, Timeout: tripTimeout,
		Leave: true, Busy: errTooManyAdmissions, Withdrawn: func(err error) error { return unsentError{err} },
		Shared: func(error) bool { return true }, // never send an admission twice
	})
}

// admitAll asks for admissions in one pipeline. Each gets its own answer and its own error.
func (g *admitter) admitAll(ctx context.Context, calls []*batch.Call[admitCall, *redis.Cmd]) (func(), error) {
	pipe := g.sale.Pipeline()
	for _, c := range calls {
		c.Out = admitScript.EvalSha(ctx, pipe, c.In.keys, c.In.args...)
		if c.In.lists {
			queue(ctx, pipe, c.In.admission)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error; the queue is a help for lists: what is lost there is found by number
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

// queue adds an order to those that its user waits for.
func queue(ctx context.Context, pipe redis.Pipeliner, a admission) {
	pipe.ZAdd(ctx, a.queued, redis.Z{Score: float64(time.Now().UnixMilli()), Member: decimal(a.order)})
	pipe.ZRemRangeByRank(ctx, a.queued, 0, -maxQueued-1)
	pipe.Expire(ctx, a.queued, queuedLife)
}

func readDecision(cmd *redis.Cmd, own int64) (decision, error) {
	reply, answered := cmd.Val().([]any) // also where what failed later in its pipeline is its error
	if !answered {
		_, err := cmd.Slice()
		return decision{}, err
	}
	var err error
	if len(reply) != 4 {
		return decision{}, fmt.Errorf("admit.lua answered %d values", len(reply))
	}
	text, _ := reply[0].(string)
	backlog, _ := reply[3].(int64)
	v := decision{code: code(text), backlog: int(backlog)}
	if text, _ := reply[1].(string); text != "" {
		if v.order, err = strconv.ParseInt(text, 10, 64); err != nil {
			return decision{}, fmt.Errorf("admit.lua answered an order: %w", err)
		}
	}
	if text, _ := reply[2].(string); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return decision{}, fmt.Errorf("admit.lua answered a time: %w", err)
		}
		v.at = time.UnixMilli(ms)
	}
	switch v.code {
	case admitted, held, notStarted, ended, offSale, outOfStock, busy, noState:
	case repeated:
		if v.order == own {
			v.code = admitted // its first call was, and the order was released since
		}
	default:
		return decision{}, fmt.Errorf("admit.lua answered the unknown code %q", text)
	}
	return v, nil
}

// recentlySoldOut reports whether a sale was answered sold out a moment ago.
func (g *admitter) recentlySoldOut(voucher int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.soldOut[voucher]
	return ok && time.Since(at) < soldOutLife
}

func (g *admitter) markSoldOut(voucher int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.soldOut) >= chunkSize { // seldom: so many sales at once
		clear(g.soldOut)
	}
	g.soldOut[voucher] = time.Now()
}

// clearSoldOut has the next call for a voucher believe that there may be pieces.
func (g *admitter) clearSoldOut(voucher int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.soldOut, voucher)
}

// reserve enters buyers who have no order of the sale, and returns how many it
// entered. It may be repeated.
func (g *admitter) reserve(ctx context.Context, at location, holds []sale.Reservation) (moved int, err error) {
	return g.move(ctx, reserveScript, "reserve", at, holds)
}

// release removes buyers who have exactly these orders, and returns how many it
// removed. It may be repeated.
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

// A version of a sale is what its row says.
type version struct {
	location
	initial    int
	begin, end int64 // milliseconds
	on         bool
	seq        int64 // of the edit
}

func (v version) args() []any {
	on := "0"
	if v.on {
		on = "1"
	}
	return []any{v.initial, v.begin, v.end, on, v.seq}
}

// open sets meta and stock of a sale whose buyers are entered. It reports false, and
// does nothing, if it is complete.
func (g *admitter) open(ctx context.Context, v version) (opened bool, err error) {
	reply, err := g.one(ctx, openScript, g.keys.ofSale(v.location), v.args()...).Text()
	if err != nil {
		return false, fmt.Errorf("open sale %d in Redis: %w", v.voucher, err)
	}
	return reply == replyDone, nil
}

// edit brings sales to what their rows say, at most as far back as force allows. It
// returns those that are not complete in Redis.
func (g *admitter) edit(ctx context.Context, force bool, all ...version) (incomplete []version, err error) {
	calls := make([]call, len(all))
	for i, v := range all {
		last := "0"
		if force {
			last = "1"
		}
		calls[i] = call{g.keys.ofSale(v.location)[:2], append(v.args(), last)}
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

// lower takes pieces out, and reports false if there are not so many. The error is
// errNoState if the sale is not complete.
func (g *admitter) lower(ctx context.Context, at location, by int, edit int64) (bool, error) {
	reply, err := g.one(ctx, lowerScript, g.keys.ofSale(at)[:2], by, edit).Text()
	if err == nil && reply == replyMissing {
		err = errNoState
	}
	if err != nil {
		return false, fmt.Errorf("lower the stock of sale %d in Redis: %w", at.voucher, err)
	}
	return reply == replyDone, nil
}

// restore takes back what lower did for an edit.
func (g *admitter) restore(ctx context.Context, at location, by int, edit int64) error {
	reply, err := g.one(ctx, restoreScript, g.keys.ofSale(at)[:2], by, edit).Text()
	if err == nil && reply == replyMissing {
		err = errNoState
	}
	if err != nil {
		return fmt.Errorf("restore the stock of sale %d in Redis: %w", at.voucher, err)
	}
	g.clearSoldOut(at.voucher)
	return nil
}

// settle sets the stock to what the buyers leave, and returns by how much it was too high.
func (g *admitter) settle(ctx context.Context, at location) (drift int, err error) {
	text, err := g.one(ctx, settleScript, g.keys.ofSale(at)).Text()
	if err == nil && text == "" {
		err = errNoState
	}
	if err == nil {
		drift, err = strconv.Atoi(text)
	}
	if err != nil {
		return 0, fmt.Errorf("settle sale %d in Redis: %w", at.voucher, err)
	}
	return drift, nil
}

// A stockCount is what a sale comes to in Redis, at one moment.
type stockCount struct {
	complete               bool // meta and stock are there
	buyers, stock, initial int
	seq                    int64
	err                    error // why it could not be counted
}

// count counts sales, in pipelines of 500 or 2000 buckets. One that cannot be counted has an error of its own.
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
			err = fmt.Errorf("count.lua answered %d values", len(n))
		}
		if err != nil {
			counts[i].err = fmt.Errorf("count sale %d in Redis: %w", all[i].voucher, err)
			continue
		}
		counts[i] = stockCount{complete: n[0] == 1, buyers: int(n[1]), stock: int(n[2]), initial: int(n[3]), seq: n[4]}
	}
	return counts
}

// entries returns orders that were admitted and are not in the database yet; it
// leaves out those that Redis has not.
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

// readEntry returns nil for one that is not there, or not whole.
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

// done ends entries of a partition's stream whose orders are decided.
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
			return fmt.Errorf("forget %d orders of partition %d: %w", len(orders), partition, err)
		}
		return nil
	}
	args := []any{group, stuckAfter.Milliseconds()}
	for _, id := range ids {
		args = append(args, id)
	}
	keys := append([]string{g.keys.orders(partition)}, names...)
	if err := g.one(ctx, trimScript, keys, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("end %d entries of partition %d: %w", len(ids), partition, err)
	}
	return nil
}

// removeIdleConsumers forgets consumers that have asked for nothing for so long, and have nothing.
func (g *admitter) removeIdleConsumers(ctx context.Context, idle time.Duration) error {
	calls := make([]call, g.partitions)
	for p := range calls {
		calls[p] = call{[]string{g.keys.orders(p)}, []any{group, idle.Milliseconds()}}
	}
	var failed []error
	for p, cmd := range g.run(ctx, tidyScript, calls) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, fmt.Errorf("forget consumers of partition %d: %w", p, err))
		}
	}
	return errors.Join(failed...)
}

// call is one run of a script.
type call struct {
	keys []string
	args []any
}

// run sends calls of a script, at most 500 a round trip, and returns one command
// for each. A server that does not know the script, because it is new or was promoted,
// gets its text with the affected calls.
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
