package queue

import (
	"context"
	"fmt"
)

// An Outcome counts the messages of a trial.
type Outcome struct{ Sent, Lost, Twice int }

func (t *trial) outcome() Outcome { return Outcome{t.sent, t.lost(), t.twice()} }

// unlimited is more than any number of messages.
const unlimited = 1 << 30

// rest returns the number of unhandled messages, at least 1.
func (t *trial) rest() int { return max(1, t.lost()) }

// consumerKilled kills two consumers: the first when it has read and not handled, the second when
// it has handled and not acknowledged.
func (l Lab) consumerKilled(ctx context.Context, sc Scheme) (Outcome, error) {
	t, err := l.trial(ctx, sc, soon, messageBytes)
	if err != nil {
		return Outcome{}, err
	}
	defer t.end()
	c, err := t.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, l.Messages, together); err != nil {
		return Outcome{}, err
	}
	if err := c.handle(ctx, l.Messages/2); err != nil {
		return Outcome{}, err
	}
	if _, err := c.take(block)(ctx); err != nil {
		return Outcome{}, err
	}
	c.kill()
	if c, err = t.consumer(ctx); err != nil {
		return Outcome{}, err
	}
	if err := c.handle(ctx, l.Messages/4); err != nil {
		return Outcome{}, err
	}
	inHand, err := c.take(block)(ctx)
	if err != nil {
		return Outcome{}, err
	}
	t.note(inHand)
	c.kill()
	if c, err = t.consumer(ctx); err != nil {
		return Outcome{}, err
	}
	err = c.handle(ctx, unlimited)
	return t.outcome(), err
}

// redisKilled kills Redis while half of the messages wait, and sends the other half after the
// restart, before the consumer continues.
func (l Lab) redisKilled(ctx context.Context, sc Scheme) (Outcome, error) {
	t, err := l.trial(ctx, sc, soon, messageBytes)
	if err != nil {
		return Outcome{}, err
	}
	defer t.end()
	c, err := t.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, l.Messages/2, together); err != nil {
		return Outcome{}, err
	}
	if err := t.restart(ctx, -1); err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, l.Messages/2, together); err != nil {
		return Outcome{}, err
	}
	err = c.handle(ctx, unlimited)
	return t.outcome(), err
}

// powerCut makes Redis lose its last writes: half of the messages, and the acknowledgements of a
// quarter of them.
func (l Lab) powerCut(ctx context.Context, sc Scheme) (Outcome, error) {
	t, err := l.trial(ctx, sc, soon, messageBytes)
	if err != nil {
		return Outcome{}, err
	}
	defer t.end()
	c, err := t.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, l.Messages/2, together); err != nil {
		return Outcome{}, err
	}
	flushed, err := t.server.Written(ctx, t.rdb)
	if err != nil {
		return Outcome{}, err
	}
	if err := c.handle(ctx, l.Messages/4); err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, l.Messages/2, together); err != nil {
		return Outcome{}, err
	}
	if err := t.restart(ctx, flushed); err != nil {
		return Outcome{}, err
	}
	err = c.handle(ctx, unlimited)
	return t.outcome(), err
}

// restart kills Redis when its replies are on disk, and starts it again. Before that it truncates
// the file to length, unless that is negative. A sender in another process reconnects.
func (t *trial) restart(ctx context.Context, length int64) error {
	if _, err := t.server.Written(ctx, t.rdb); err != nil {
		return err
	}
	t.server.Kill()
	if length >= 0 {
		if err := t.server.Cut(length); err != nil {
			return err
		}
	}
	if !t.InProcess && t.sender != nil {
		t.sender.kill()
		t.sender = nil
	}
	return t.server.Start(ctx)
}

// noConsumer sends before any consumer exists; then one starts.
func (l Lab) noConsumer(ctx context.Context, sc Scheme) (Outcome, error) {
	t, err := l.trial(ctx, sc, never, messageBytes)
	if err != nil {
		return Outcome{}, err
	}
	defer t.end()
	if _, err := t.send(ctx, l.Messages, together); err != nil {
		return Outcome{}, err
	}
	c, err := t.consumer(ctx)
	if err != nil {
		return Outcome{}, err
	}
	err = c.handle(ctx, t.rest())
	return t.outcome(), err
}

// slowConsumer sends large messages while the consumer is busy with its first one. Redis has a
// limited buffer for unread messages of subscribers.
func (l Lab) slowConsumer(ctx context.Context, sc Scheme) (Outcome, error) {
	t, err := l.trial(ctx, sc, never, 4096, "--client-output-buffer-limit", "pubsub", "65536", "0", "0")
	if err != nil {
		return Outcome{}, err
	}
	defer t.end()
	c, err := t.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, l.Messages, together); err != nil {
		return Outcome{}, err
	}
	err = c.handle(ctx, t.rest())
	return t.outcome(), err
}

// A Sharing is the work of two consumers at the same time.
type Sharing struct {
	Outcome
	By [2]int // handled by each
}

// Shared reports whether each message had one consumer, and both had some.
func (s Sharing) Shared() bool { return s.Twice == 0 && s.By[0] > 0 && s.By[1] > 0 }

// twoConsumers runs two consumers of one queue. Both wait when the first two messages arrive, so
// that each could have one; then they handle all.
func (l Lab) twoConsumers(ctx context.Context, sc Scheme) (s Sharing, err error) {
	t, err := l.trial(ctx, sc, never, messageBytes)
	if err != nil {
		return s, err
	}
	defer t.end()
	var two [2]*consumer
	var results [2]func(context.Context) ([]int, error)
	for i := range two {
		if two[i], err = t.consumer(ctx); err != nil {
			return s, err
		}
	}
	for i := range two {
		results[i] = two[i].take(patience / 2)
	}
	if err := t.waiting(ctx, 2); err != nil {
		return s, err
	}
	if _, err := t.send(ctx, 2, 1); err != nil {
		return s, err
	}
	for i, c := range two {
		numbers, err := results[i](ctx)
		if err != nil {
			return s, err
		}
		t.note(numbers)
		s.By[i] += len(numbers)
		if err := c.finish(ctx); err != nil {
			return s, err
		}
	}
	var working [2]func(context.Context) (Handled, error)
	for i, c := range two {
		working[i] = start[Handled](c.process, "Handle", Handling{c.name, unlimited})
	}
	if _, err := t.send(ctx, l.Messages-2, 1); err != nil {
		return s, err
	}
	for i := range working {
		h, err := working[i](ctx)
		if err != nil {
			return s, err
		}
		t.note(h.Numbers)
		s.By[i] += len(h.Numbers)
	}
	s.Outcome = t.outcome()
	return s, nil
}

// replayed sends and handles messages, and counts how many a new reader of the whole history
// receives.
func (l Lab) replayed(ctx context.Context, sc Scheme) (Outcome, error) {
	t, err := l.trial(ctx, sc, never, messageBytes)
	if err != nil {
		return Outcome{}, err
	}
	defer t.end()
	c, err := t.begin(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := t.send(ctx, 5*bound, together); err != nil {
		return Outcome{}, err
	}
	if err := c.handle(ctx, t.rest()); err != nil {
		return Outcome{}, err
	}
	again, err := t.consumes(ctx, true)
	if err != nil {
		return Outcome{}, err
	}
	t.handled = map[int]int{} // only later messages count
	err = again.handle(ctx, t.sent)
	return t.outcome(), err
}

// Waiting is the size of messages that wait for a consumer.
type Waiting struct {
	Sent, Count int     // as many wait as were sent, or fewer
	Bytes       float64 // of each, in Redis or in the process; 0 if none waits
}

// waitingBytes sends without a consumer, and reads the used memory.
func (l Lab) waitingBytes(ctx context.Context, sc Scheme) (w Waiting, err error) {
	t, err := l.trial(ctx, sc, never, messageBytes)
	if err != nil {
		return w, err
	}
	defer t.end()
	if _, err := t.process(); err != nil {
		return w, err
	}
	before, err := t.memory(ctx)
	if err != nil {
		return w, err
	}
	w.Sent = 10 * l.Messages
	t.setting.Room = w.Sent
	if _, err := t.send(ctx, w.Sent, together); err != nil {
		return w, err
	}
	after, err := t.memory(ctx)
	if err != nil {
		return w, err
	}
	if w.Count, err = t.depth(ctx); err == nil && w.Count > 0 {
		w.Bytes = float64(after-before) / float64(w.Count)
	}
	return w, err
}

// memory returns the memory of data, without clients and buffers of the append-only file.
func (t *trial) memory(ctx context.Context) (bytes int64, err error) {
	if t.InProcess {
		heap, err := ask[uint64](ctx, t.inside, "Heap", struct{}{})
		return int64(heap), err
	}
	info, err := t.rdb.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("read the memory of Redis: %w", err)
	}
	if _, err := fmt.Sscan(info["Memory"]["used_memory_dataset"], &bytes); err != nil {
		return 0, fmt.Errorf("parse the memory of Redis: %w", err)
	}
	return bytes, nil
}

// depth returns the number of messages in the queue.
func (t *trial) depth(ctx context.Context) (int, error) {
	if t.InProcess {
		return ask[int](ctx, t.inside, "Depth", t.setting.Name)
	}
	kind, err := t.rdb.Type(ctx, t.setting.Name).Result()
	if err != nil {
		return 0, fmt.Errorf("read the type of the queue: %w", err)
	}
	var length int64
	switch kind {
	case "list":
		length, err = t.rdb.LLen(ctx, t.setting.Name).Result()
	case "stream":
		length, err = t.rdb.XLen(ctx, t.setting.Name).Result()
	}
	return int(length), err
}
