package sale

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

//go:embed lua/admit.lua
var admitLua string

const (
	consumers   = "consumers"
	readBlock   = 20 * time.Millisecond
	settleLook  = 5 * time.Millisecond
	settleLimit = 2 * time.Minute
)

// queued admits by a script that queues the order. A consumer stores a number of orders per
// transaction; the commonly taught number is one.
type queued struct {
	*single
	at     keys
	admit  *redis.Script
	batch  int
	sale   Sale
	stop   context.CancelFunc
	reader sync.WaitGroup
	over   chan struct{} // closed when the consumer has ended
	failed error         // of the consumer, when it has
}

func newQueued(batch int) func(context.Context, *Servers) (Admitter, error) {
	return func(ctx context.Context, on *Servers) (Admitter, error) {
		s, err := newSingle(ctx, on)
		return &queued{single: s, at: keys{on.space()}, admit: redis.NewScript(admitLua), batch: batch, stop: func() {}}, err
	}
}

// Open implements [Admitter]. The consumer runs until the next one, or Close.
func (q *queued) Open(ctx context.Context, s Sale) error {
	q.end()
	if err := q.at.open(ctx, q.rdb, s); err != nil {
		return err
	}
	stream := q.at.orders(s.Voucher)
	if err := q.rdb.XGroupCreateMkStream(ctx, stream, consumers, "0").Err(); err != nil {
		return fmt.Errorf("create the consumer group: %w", err)
	}
	if err := q.admit.Load(ctx, q.rdb).Err(); err != nil {
		return fmt.Errorf("load the script: %w", err)
	}
	ctx, q.stop = context.WithCancel(context.WithoutCancel(ctx))
	q.sale, q.over = s, make(chan struct{})
	q.reader.Go(func() {
		defer close(q.over)
		q.failed = q.consume(ctx, s)
	})
	return nil
}

// end ends the consumer.
func (q *queued) end() {
	q.stop()
	q.reader.Wait()
}

// Admit implements [Admitter].
func (q *queued) Admit(ctx context.Context, w Wish) (Answer, error) {
	order, err := q.number(ctx)
	if err != nil {
		return Answer{}, err
	}
	names := []string{q.at.stock(w.Voucher), q.at.buyers(w.Voucher), q.at.orders(w.Voucher)}
	reply, err := q.admit.EvalSha(ctx, q.rdb, names, w.User, strconv.FormatInt(order, 10), w.Quantity).Slice()
	if err != nil {
		return Answer{}, fmt.Errorf("admit: %w", err)
	}
	if len(reply) != 2 {
		return Answer{}, fmt.Errorf("admit.lua returned %d values, want 2", len(reply))
	}
	n, _ := reply[0].(int64)
	a := Answer{Decision: Decision(n)}
	if number, _ := reply[1].(string); number != "" {
		if a.Order, err = strconv.ParseInt(number, 10, 64); err != nil {
			return Answer{}, fmt.Errorf("parse the order of admit.lua: %w", err)
		}
	}
	return a, nil
}

// consume stores queued orders until ctx ends, and then those that it has already read.
func (q *queued) consume(ctx context.Context, s Sale) error {
	stream := q.at.orders(s.Voucher)
	for ctx.Err() == nil {
		read, err := q.rdb.XReadGroup(context.WithoutCancel(ctx), &redis.XReadGroupArgs{
			Group: consumers, Consumer: "one", Streams: []string{stream, ">"}, Count: int64(q.batch), Block: readBlock,
		}).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		if err := q.keep(context.WithoutCancel(ctx), stream, read[0].Messages); err != nil {
			return err
		}
	}
	return nil
}

// keep stores a batch and then acknowledges its entries.
func (q *queued) keep(ctx context.Context, stream string, batch []redis.XMessage) error {
	ids, numbers := make([]string, len(batch)), [3][]int64{}
	for i, m := range batch {
		ids[i] = m.ID
		for j, field := range []string{"o", "u", "q"} {
			word, _ := m.Values[field].(string)
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return fmt.Errorf("parse an entry of the queue: %w", err)
			}
			numbers[j] = append(numbers[j], n)
		}
	}
	var err error
	if q.batch == 1 {
		_, err = q.take.ExecContext(ctx, numbers[0][0], numbers[1][0], q.sale.Voucher, numbers[2][0], now())
	} else {
		_, err = q.store.ExecContext(ctx, pq.Array(numbers[0]), pq.Array(numbers[1]), pq.Array(numbers[2]), q.sale.Voucher, now())
	}
	if err != nil {
		return fmt.Errorf("store orders: %w", err)
	}
	_, err = q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.XAck(ctx, stream, consumers, ids...)
		p.XDel(ctx, stream, ids...)
		return nil
	})
	return err
}

// Settle implements [Admitter].
func (q *queued) Settle(ctx context.Context, s Sale) error {
	return settled(ctx, func() (bool, error) {
		select {
		case <-q.over:
			return false, fmt.Errorf("the consumer has ended: %w", q.failed)
		default:
		}
		n, err := q.rdb.XLen(ctx, q.at.orders(s.Voucher)).Result()
		return n == 0, err
	})
}

// settled waits until a sale has settled.
func settled(ctx context.Context, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for {
		yes, err := is()
		if yes || err != nil {
			return err
		}
		if err := clock.Sleep(ctx, settleLook); err != nil {
			return fmt.Errorf("store orders: %w", err)
		}
	}
}

// Left implements [Admitter].
func (q *queued) Left(ctx context.Context, s Sale) (int, error) {
	return q.rdb.Get(ctx, q.at.stock(s.Voucher)).Int()
}

// Close implements [Admitter].
func (q *queued) Close(ctx context.Context) error {
	q.end()
	return errors.Join(q.failed, q.single.Close(ctx))
}
