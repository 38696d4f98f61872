package broadcast

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// An Update is one thing that a [Source] tells. All who are told get the same object,
// so whoever serves them knows that one execution and one message will do.
type Update struct {
	Seq    int64     // its place in what the source tells: larger than those of all before
	Cursor string    // a client that has seen it goes on from here; "" if it cannot
	At     time.Time // when it came to be, for metrics; zero if that is not known

	// Load returns what the subscription's field is. [ErrSkip] means that there is
	// nothing to tell any more, any other error that it should be asked again. It may
	// be called more than once, and by several at once.
	Load func(ctx context.Context) (any, error)
}

// ErrSkip is what [Update.Load] returns when there is nothing to tell any more: the
// update is left out.
var ErrSkip = errors.New("there is nothing to tell any more")

// A Receiver is who is told: a subscription of a client. Its methods never wait, and
// a source calls one at a time.
type Receiver interface {
	// Push hands an update over.
	Push(u *Update)
	// Reset says that what is pushed from now on begins behind the place that
	// [Subscription.Resume] was called with: what was pushed before counts no more.
	Reset()
	// End says that nothing comes any more: all is told, or an error that the client
	// is to see. A source that has ended and is asked to resume says it once more.
	End(err error)
}

// A Source tells a subscription what happens. It does nothing until it is followed, and
// keeps nothing of the operation that made it: that may be over by then.
type Source interface {
	// Subscribe tells r what the subscription is to hear, from its beginning on, until
	// the Following is closed. It may call r before it returns.
	Subscribe(r Receiver) (Subscription, error)
}

// A Subscription is one subscription's place at its source. Its methods do not wait for
// stores, but for a call of the Receiver that is under way: they must not be called
// from one.
type Subscription interface {
	// Resume is for a receiver that could not take all: it is told again what comes
	// behind a number, after a Reset, or what it needs to know instead.
	Resume(after int64)
	// Close ends it: nothing is pushed after it returned. More than once is once.
	Close()
}

// A Handoff is where an operation meets its subscription: the door puts one into the
// context of each, and [From], called by the resolver of its field, the source.
// Feed, Personal and [NextValue] belong to whoever runs the operation, one call at a time.
type Handoff struct {
	LastEvent string // of an event stream that was interrupted: the cursor that it ended with

	source   Source
	feed     func(v any) error
	fed      any    // that was not taken yet, but perhaps from the channel
	take     func() // takes it from the channel
	personal atomic.Bool
}

type jointKey struct{}

// WithHandoff returns the context of a subscription's operation.
func WithHandoff(ctx context.Context, j *Handoff) context.Context {
	return context.WithValue(ctx, jointKey{}, j)
}

func jointOf(ctx context.Context) *Handoff {
	j, _ := ctx.Value(jointKey{}).(*Handoff)
	return j
}

// Source is what the resolver gave to [From], nil if it did not: then the
// operation is run for its client alone, as any other.
func (j *Handoff) Source() Source { return j.source }

// Deliver has the operation's next response be that of a value, which an [Update] was
// loaded as.
func (j *Handoff) Deliver(v any) error {
	err := j.feed(v)
	if j.fed = v; err != nil {
		j.fed = nil
	}
	return err
}

// NextValue returns, to who makes an operation's response in gqlgen's place, the value that the
// response is to be that of. take is to be called before the next one is fed, and only if
// the response was made: then gqlgen does not see the value.
func NextValue(ctx context.Context) (v any, take func(), ok bool) {
	j := jointOf(ctx)
	if j == nil || j.fed == nil {
		return nil, nil, false
	}
	v, j.fed = j.fed, nil
	return v, j.take, true
}

// Personal reports whether something asked [MarkPersonal] since the last call.
func (j *Handoff) Personal() bool { return j.personal.Swap(false) }

// LastEventID is the cursor of the last event that a client saw of an event stream
// that was interrupted, "" if it says none.
func LastEventID(ctx context.Context) string {
	if j := jointOf(ctx); j != nil {
		return j.LastEvent
	}
	return ""
}

// MarkPersonal says that what is being answered may differ by who asks. Whatever knows in
// a request who asks must call it before it says so: then an answer that depends on it
// cannot reach anybody else, whatever fields are added.
func MarkPersonal(ctx context.Context) {
	if j := jointOf(ctx); j != nil {
		j.personal.Store(true)
	}
}

// From is what the resolver of a subscription's field returns when what it tells
// is the same for many: each update is executed once for each selection, and its bytes
// go to all who have that. Nothing is followed yet when it returns. The door must have
// prepared the context, once for each call.
func From[T any](ctx context.Context, s Source) (<-chan T, error) {
	j := jointOf(ctx)
	if j == nil || j.source != nil {
		return nil, apierror.New(apierror.Internal, "This subscription has no place to tell to.")
	}
	values := make(chan T, 1)
	j.source = s
	j.feed = func(v any) error {
		typed, ok := v.(T)
		if !ok {
			return apierror.New(apierror.Internal, "This update is of another kind.")
		}
		select {
		case values <- typed:
			return nil
		default:
			return errors.New("the update before was not executed")
		}
	}
	j.take = func() {
		select {
		case <-values:
		default:
		}
	}
	return values, nil
}
