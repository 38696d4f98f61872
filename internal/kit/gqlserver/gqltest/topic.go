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

// Tell tells all who subscribe to a topic, and who come later and ask for it. It returns
// its number, and how many were told now.
func (s *Schema) Tell(about, text string) (number, reached int) {
	s.mu.Lock()
	t := s.topic(about)
	s.mu.Unlock()
	t.mu.Lock() // before the schema's, as where a subscription ends
	defer t.mu.Unlock()
	s.mu.Lock()
	s.told++
	n := s.told
	s.mu.Unlock()
	u := &broadcast.Update{Seq: int64(n), Cursor: strconv.Itoa(n), At: time.Now(), Load: func(context.Context) (any, error) {
		if err := s.trouble("load"); err != nil {
			return nil, err
		}
		return &generated.News{Number: n, Cursor: strconv.Itoa(n), Text: text}, nil
	}}
	return n, t.tell(u)
}

// End ends the subscriptions of a topic, in order with what it told.
func (s *Schema) End(about string, err error) {
	s.mu.Lock()
	t := s.topic(about)
	s.mu.Unlock()
	t.end(err)
}

// Break has a field of News, or "load", fail with errors, or panic with other values, one
// each time it is asked for.
func (s *Schema) Break(field string, with ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[field] = append(s.broken[field], with...)
}

// trouble fails or panics as Break says.
func (s *Schema) trouble(field string) error {
	s.mu.Lock()
	list := s.broken[field]
	if len(list) == 0 {
		s.mu.Unlock()
		return nil
	}
	s.broken[field] = list[1:]
	s.mu.Unlock()
	if err, ok := list[0].(error); ok {
		return err
	}
	panic(list[0])
}

// topic is for those who hold the mutex.
func (s *Schema) topic(about string) *topic {
	if s.topics[about] == nil {
		s.topics[about] = &topic{by: map[*follower]struct{}{}}
	}
	return s.topics[about]
}

// A topic remembers all that was told about it.
type topic struct {
	mu    sync.Mutex
	news  []*broadcast.Update
	by    map[*follower]struct{}
	ended bool
	why   error
}

// tell is for those who hold the mutex.
func (t *topic) tell(u *broadcast.Update) int {
	t.news = append(t.news, u)
	for f := range t.by {
		f.to.Push(u)
	}
	return len(t.by)
}

func (t *topic) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.why = true, err
	for f := range t.by {
		f.to.End(err)
	}
}

// A subscriber is a source: a topic from somewhere on.
type subscriber struct {
	schema *Schema
	topic  *topic
	after  *int64 // nil for what comes from now on
}

// Subscribe implements [broadcast.Source].
func (s subscriber) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	f := &follower{topic: s.topic, to: r}
	s.topic.mu.Lock()
	defer s.topic.mu.Unlock()
	f.leave = s.schema.run("told") // while the topic is locked: what is counted gets the next update
	s.topic.by[f] = struct{}{}
	if s.after != nil {
		f.replay(*s.after)
	}
	return f, nil
}

type follower struct {
	topic *topic
	to    broadcast.Receiver
	leave func()
}

// replay is for those who hold the topic's mutex.
func (f *follower) replay(after int64) {
	for _, u := range f.topic.news {
		if u.Seq > after {
			f.to.Push(u)
		}
	}
	if f.topic.ended {
		f.to.End(f.topic.why)
	}
}

// Resume implements [broadcast.Subscription].
func (f *follower) Resume(after int64) {
	f.topic.mu.Lock()
	defer f.topic.mu.Unlock()
	if _, follows := f.topic.by[f]; follows {
		f.to.Reset()
		f.replay(after)
	}
}

// Close implements [broadcast.Subscription].
func (f *follower) Close() {
	f.topic.mu.Lock()
	defer f.topic.mu.Unlock()
	if _, follows := f.topic.by[f]; follows {
		delete(f.topic.by, f)
		f.leave()
	}
}

func (s subscription) Told(ctx context.Context, about string, after *int) (<-chan *generated.News, error) {
	s.mu.Lock()
	from := subscriber{schema: s.Schema, topic: s.topic(about)}
	s.mu.Unlock()
	if after != nil {
		from.after = new(int64(*after))
	}
	if last := broadcast.LastEventID(ctx); last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the last event: %w", err)
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
	if err := n.trouble("fragile"); err != nil {
		return nil, err
	}
	return &of.Text, nil
}

func (n news) Beat(_ context.Context, of *generated.News) (*scalar.Beat, error) {
	err := n.trouble("beat")
	return &scalar.Beat{Number: of.Number, Panics: err != nil}, nil
}
