package gqltest

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/generated"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/scalar"
)

// root is the resolver root. The resolvers of the types convert from it.
type root struct{ *Schema }

func (r root) Query() generated.QueryResolver               { return query(r) }
func (r root) Mutation() generated.MutationResolver         { return mutation(r) }
func (r root) Subscription() generated.SubscriptionResolver { return subscription(r) }
func (r root) News() generated.NewsResolver                 { return news(r) }
func (r root) Item() generated.ItemResolver                 { return item(r) }

type query root

func (query) Hello(_ context.Context, name *string) (string, error) {
	if name == nil {
		return "hello world", nil
	}
	return "hello " + *name, nil
}

func (query) Item(_ context.Context, id string) (*generated.Item, error) {
	return newItem(id), nil
}

func (query) Items(_ context.Context, first int) ([]generated.Item, error) {
	return newItems(first), nil
}

func (query) Fail(context.Context) (*string, error) {
	return nil, errors.New(`pq: relation "` + Secret + `" does not exist`)
}

func (query) FailMany(ctx context.Context, n int) ([]*string, error) {
	for i := range n {
		graphql.AddError(ctx, &gqlerror.Error{
			Err:  errors.New("read " + Secret),
			Path: append(graphql.GetPath(ctx), ast.PathIndex(i)),
		})
	}
	return make([]*string, max(n, 0)), nil
}

func (query) Crash(context.Context) (*string, error) { panic("the resolver crashed: " + Secret) }

func (query) Explode(context.Context) (*scalar.Beat, error) { return &scalar.Beat{Panics: true}, nil }

func (q query) Slow(ctx context.Context) (*string, error) {
	defer q.run("slow")()
	<-ctx.Done()
	return nil, ctx.Err()
}

func (q query) Wait(ctx context.Context) (*string, error) {
	released, end := q.waiting()
	defer end()
	select {
	case <-released:
		return new("released"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (query) Big(_ context.Context, bytes int) (string, error) {
	return strings.Repeat("x", max(bytes, 0)), nil
}

func (query) Sum(_ context.Context, of []int) (int, error) {
	var sum int
	for _, n := range of {
		sum += n
	}
	return sum, nil
}

func (query) Echo(_ context.Context, value any) (any, error) { return value, nil }

func (query) Viewer(ctx context.Context) (*string, error) {
	if name, ok := ctx.Value(viewerKey{}).(string); ok {
		return &name, nil
	}
	return nil, nil //nolint:nilnil // null for an anonymous client
}

func (query) Public(context.Context) ([]string, error) { return []string{"one", "two"}, nil }

func (q query) Running(_ context.Context, field string) (int, error) {
	return q.Schema.Running(field), nil
}

type item root

func (item) Parent(_ context.Context, of *generated.Item) (*generated.Item, error) {
	return newItem(of.ID + ".0"), nil
}

func (item) Items(_ context.Context, _ *generated.Item, first int) ([]generated.Item, error) {
	return newItems(first), nil
}

func (item) Related(context.Context, *generated.Item) ([]generated.Item, error) {
	return newItems(relatedItems), nil
}

func newItem(id string) *generated.Item { return &generated.Item{ID: id, Name: "item " + id} }

func newItems(n int) []generated.Item {
	items := make([]generated.Item, max(n, 0))
	for i := range items {
		items[i] = *newItem(strconv.Itoa(i + 1))
	}
	return items
}

type mutation root

func (mutation) SetName(_ context.Context, name string) (string, error) { return name, nil }

func (mutation) Guess(_ context.Context, word string) (bool, error) { return word == "sesame", nil }

func (mutation) Upload(_ context.Context, file graphql.Upload) (*generated.File, error) {
	text, err := io.ReadAll(file.File)
	if err != nil {
		return nil, err
	}
	return &generated.File{Name: file.Filename, Size: len(text), Text: string(text)}, nil
}

func (m mutation) Uploads(ctx context.Context, files []graphql.Upload) ([]generated.File, error) {
	var all []generated.File
	for _, file := range files {
		f, err := m.Upload(ctx, file)
		if err != nil {
			return nil, err
		}
		all = append(all, *f)
	}
	return all, nil
}

func (m mutation) Push(_ context.Context, text string) (int, error) { return m.Schema.Push(text), nil }

func (m mutation) Release(context.Context) (int, error) { return m.Schema.Release(), nil }

type subscription root

func (s subscription) Count(ctx context.Context, to int) (<-chan int, error) {
	return stream(ctx, s.run("count"), func(send func(int) bool) {
		for i := 1; i <= to && send(i); i++ {
		}
	}), nil
}

func (s subscription) Ticks(ctx context.Context) (<-chan *generated.Tick, error) {
	ticks, end := s.subscribe()
	return stream(ctx, end, func(send func(*generated.Tick) bool) {
		for {
			select {
			case tick := <-ticks:
				send(&tick)
			case <-ctx.Done():
				return
			}
		}
	}), nil
}

func (s subscription) Broken(ctx context.Context) (<-chan *scalar.Beat, error) {
	return beats(ctx, s.run("broken"), scalar.Beat{Number: 2, Fails: true}), nil
}

func (s subscription) Crashing(ctx context.Context) (<-chan *scalar.Beat, error) {
	return beats(ctx, s.run("crashing"), scalar.Beat{Number: 2, Panics: true}), nil
}

// beats sends three beats. The second one is given.
func beats(ctx context.Context, end func(), second scalar.Beat) <-chan *scalar.Beat {
	return stream(ctx, end, func(send func(*scalar.Beat) bool) {
		_ = send(&scalar.Beat{Number: 1}) && send(&second) && send(&scalar.Beat{Number: 3})
	})
}

func (subscription) Refused(context.Context) (<-chan int, error) {
	return nil, errors.New("subscribe to " + Secret)
}

func (s subscription) Flood(ctx context.Context) (<-chan string, error) {
	event := strings.Repeat("x", 10_000)
	return stream(ctx, s.run("flood"), func(send func(string) bool) {
		for send(event) {
		}
	}), nil
}

// stream runs produce in a goroutine and calls end when it returns. send returns false
// when ctx has ended; produce must return then.
func stream[T any](ctx context.Context, end func(), produce func(send func(T) bool)) <-chan T {
	events := make(chan T)
	go func() {
		defer close(events)
		defer end() // before events closes, so that nothing runs at the end of the stream
		produce(func(event T) bool {
			select {
			case events <- event:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return events
}
