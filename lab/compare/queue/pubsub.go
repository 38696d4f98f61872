package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// A publisher publishes to the current subscribers.
type publisher struct{ Process }

func newPublisher(_ context.Context, p Process) (Sender, error) { return publisher{p}, nil }

func (s publisher) Send(ctx context.Context, numbers []int) error {
	pipe := s.Redis.Pipeline()
	for _, n := range numbers {
		pipe.Publish(ctx, s.Name, encode(n, s.Bytes))
	}
	_, err := pipe.Exec(ctx)
	return err
}

func (publisher) Close() error { return nil }

// A subscriber receives messages while it is connected.
type subscriber struct{ *redis.PubSub }

// newSubscriber returns when Redis has the subscription.
func newSubscriber(ctx context.Context, p Process) (Reader, error) {
	sub := p.Redis.Subscribe(ctx, p.Name)
	if _, err := sub.Receive(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("subscribe: %w", err), sub.Close())
	}
	return subscriber{sub}, nil
}

// Read connects and subscribes again if necessary.
func (r subscriber) Read(ctx context.Context, _ int, wait time.Duration) ([]Message, error) {
	for {
		got, err := r.ReceiveTimeout(ctx, wait)
		if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if m, ok := got.(*redis.Message); ok { // not that it subscribed
			return one(m.Payload)
		}
	}
}

func (subscriber) Done(context.Context, []Message) error { return nil }
