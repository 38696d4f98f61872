package gqltest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/generated"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/scalar"
)

// Publish sends an update of a topic to its current subscriptions, and to later ones that
// request it. It returns the number of the update and the number of current
// subscriptions.
func (s *Schema) Publish(about, text string) (number, reached int) {
	s.mu.Lock()
	t := s.topic(about)
	s.mu.Unlock()
	t.mu.Lock() // before s.mu, as in Close
	defer t.mu.Unlock()
	s.mu.Lock()
	s.lastNumber++
	n := s.lastNumber
	s.mu.Unlock()
	u := &broadcast.Update{Seq: int64(n), Cursor: strconv.Itoa(n), At: time.Now(), Load: func(context.Context) (any, error) {
		if err := s.fault("load"); err != nil {
			return nil, err
		}
		return &generated.News{Number: n, Cursor: strconv.Itoa(n), Text: text}, nil
	}}
	return n, t.publish(u)
}

// EndTopic ends the subscriptions of a topic after the updates sent before.
func (s *Schema) EndTopic(about string, err error) {
	s.mu.Lock()
	t := s.topic(about)
	s.mu.Unlock()
	t.end(err)
}

// InjectFault makes a field of News, or "load", fail. Each later call consumes one value: it
// returns an error, and panics with any other value.
func (s *Schema) InjectFault(field string, with ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[field] = append(s.faults[field], with...)
}

// fault returns or panics with the next value of [Schema.InjectFault].
func (s *Schema) fault(field string) error {
	s.mu.Lock()
	list := s.faults[field]
	if len(list) == 0 {
		s.mu.Unlock()
		return nil
	}
	s.faults[field] = list[1:]
	s.mu.Unlock()
	if err, ok := list[0].(error); ok {
		return err
	}
	panic(list[0])
}

// topic returns a topic, which it creates if necessary. The caller must hold s.mu.
func (s *Schema) topic(about string) *topic {
	if s.topics[about] == nil {
		s.topics[about] = &topic{subscriptions: map[*topicSubscription]struct{}{}}
	}
	return s.topics[about]
}

// topic retains all of its updates.
type topic struct {
	mu            sync.Mutex
	news          []*broadcast.Update
	subscriptions map[*topicSubscription]struct{}
	ended         bool
	err           error
}

// publish sends an update to all subscriptions. The caller must hold t.mu.
func (t *topic) publish(u *broadcast.Update) int {
	t.news = append(t.news, u)
	for f := range t.subscriptions {
		f.receiver.Push(u)
	}
	return len(t.subscriptions)
}

func (t *topic) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.err = true, err
	for f := range t.subscriptions {
		f.receiver.End(err)
	}
}

// topicSource is the source of a topic's updates.
type topicSource struct {
	schema *Schema
	topic  *topic
	after  *int64 // sends stored updates after this number; nil for new updates only
}

// Subscribe implements [broadcast.Source].
func (s topicSource) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	f := &topicSubscription{topic: s.topic, receiver: r}
	s.topic.mu.Lock()
	defer s.topic.mu.Unlock()
	f.done = s.schema.run("told") // while the topic is locked, so that counted subscriptions get the next update
	s.topic.subscriptions[f] = struct{}{}
	if s.after != nil {
		f.replay(*s.after)
	}
	return f, nil
}

type topicSubscription struct {
	topic    *topic
	receiver broadcast.Receiver
	done     func()
}

// replay sends the updates after a number. The caller must hold f.topic.mu.
func (f *topicSubscription) replay(after int64) {
	for _, u := range f.topic.news {
		if u.Seq > after {
			f.receiver.Push(u)
		}
	}
	if f.topic.ended {
		f.receiver.End(f.topic.err)
	}
}

// Resume implements [broadcast.Subscription].
func (f *topicSubscription) Resume(after int64) {
	f.topic.mu.Lock()
	defer f.topic.mu.Unlock()
	if _, follows := f.topic.subscriptions[f]; follows {
		f.receiver.Reset()
		f.replay(after)
	}
}

// Close implements [broadcast.Subscription].
func (f *topicSubscription) Close() {
	f.topic.mu.Lock()
	defer f.topic.mu.Unlock()
	if _, follows := f.topic.subscriptions[f]; follows {
		delete(f.topic.subscriptions, f)
		f.done()
	}
}

func (s subscription) Told(ctx context.Context, about string, after *int) (<-chan *generated.News, error) {
	s.mu.Lock()
	from := topicSource{schema: s.Schema, topic: s.topic(about)}
	s.mu.Unlock()
	if after != nil {
		from.after = new(int64(*after))
	}
	if last := broadcast.LastEventID(ctx); last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parse the last event id: %w", err)
		}
		from.after = &n
	}
	return broadcast.From[*generated.News](ctx, from)
}

type news root

func (news) Viewer(ctx context.Context, _ *generated.News) (*string, error) {
	broadcast.MarkPersonal(ctx)
	return query{}.Viewer(ctx)
}

func (news) Item(_ context.Context, of *generated.News) (*generated.Item, error) {
	return newItem(of.Text), nil
}

func (n news) Fragile(_ context.Context, of *generated.News) (*string, error) {
	if err := n.fault("fragile"); err != nil {
		return nil, err
	}
	return &of.Text, nil
}

func (n news) Beat(_ context.Context, of *generated.News) (*scalar.Beat, error) {
	err := n.fault("beat")
	return &scalar.Beat{Number: of.Number, Panics: err != nil}, nil
}
