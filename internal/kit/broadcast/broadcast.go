// Package broadcast connects the operation of a subscription with its source, so that the
// GraphQL server executes an update once for many clients.
package broadcast

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// An Update is one event of a [Source]. All receivers get the same object, so the server
// can share one execution and one message.
type Update struct {
	Seq    int64     // number within the source: larger than all before
	Cursor string    // a client that has seen it resumes here; "" if it cannot
	At     time.Time // time of the event, for metrics; zero if unknown

	// Load returns the value of the subscription's field. [ErrSkip] drops the update; any
	// other error is retried. Load may be called repeatedly and concurrently.
	Load func(ctx context.Context) (any, error)
}

// ErrSkip is returned by [Update.Load] if the update is obsolete: it is left out.
var ErrSkip = errors.New("update is obsolete")

// A Receiver is a subscription of a client. Its methods never wait, and a source calls
// one at a time.
type Receiver interface {
	// Push delivers an update.
	Push(u *Update)
	// Reset reports that later updates follow the number passed to [Subscription.Resume].
	// Earlier updates no longer count.
	Reset()
	// End reports that no update follows: the source has ended, or err is for the client.
	// If a source that has ended is resumed, it calls End again.
	End(err error)
}

// A Source delivers the updates of a subscription. It does nothing before Subscribe, and
// must not retain the operation that created it: that may have ended by then.
type Source interface {
	// Subscribe delivers the updates to r, from the beginning of the subscription, until
	// the Subscription is closed. It may call r before it returns.
	Subscribe(r Receiver) (Subscription, error)
}

// A Subscription is one subscription at its source. Its methods do not wait for stores,
// but for a running call of the Receiver: a Receiver must not call them.
type Subscription interface {
	// Resume is for a receiver that dropped updates. The source calls Reset and delivers
	// the updates after a number again, or their replacement.
	Resume(after int64)
	// Close ends the subscription: after it returns, nothing is pushed. Further calls do
	// nothing.
	Close()
}

// A Handoff connects an operation with its [Source]. The server puts one into the context
// of each operation, and the resolver calls [From] with the source. Only the goroutine
// that runs the operation calls Deliver, Personal and [NextValue], one at a time.
type Handoff struct {
	LastEvent string // last cursor of an interrupted event stream

	source   Source
	deliver  func(v any) error
	value    any    // not taken by NextValue yet, perhaps from the channel
	take     func() // removes it from the channel
	personal atomic.Bool
}

type handoffKey struct{}

// WithHandoff returns the context of a subscription's operation.
func WithHandoff(ctx context.Context, h *Handoff) context.Context {
	return context.WithValue(ctx, handoffKey{}, h)
}

func handoffOf(ctx context.Context) *Handoff {
	h, _ := ctx.Value(handoffKey{}).(*Handoff)
	return h
}

// Source returns the source that the resolver passed to [From], or nil: then the
// operation runs for its client alone.
func (h *Handoff) Source() Source { return h.source }

// Deliver makes v the value of the operation's next response. v was loaded by an
// [Update].
func (h *Handoff) Deliver(v any) error {
	err := h.deliver(v)
	if h.value = v; err != nil {
		h.value = nil
	}
	return err
}

// NextValue returns the value of the next response, for code that builds the response
// instead of gqlgen. After the response is built, call take before the next Deliver: then
// gqlgen does not get the value.
func NextValue(ctx context.Context) (v any, take func(), ok bool) {
	h := handoffOf(ctx)
	if h == nil || h.value == nil {
		return nil, nil, false
	}
	v, h.value = h.value, nil
	return v, h.take, true
}

// Personal reports whether [MarkPersonal] was called since the last call of Personal.
func (h *Handoff) Personal() bool { return h.personal.Swap(false) }

// LastEventID returns the cursor of the last event that a client received of an
// interrupted event stream, or "".
func LastEventID(ctx context.Context) string {
	if h := handoffOf(ctx); h != nil {
		return h.LastEvent
	}
	return ""
}

// MarkPersonal marks the response as dependent on the viewer. Code must call it before it
// returns the viewer of a request. Then a response that depends on the viewer reaches no
// other client, whatever fields are added.
func MarkPersonal(ctx context.Context) {
	if h := handoffOf(ctx); h != nil {
		h.personal.Store(true)
	}
}

// From registers s as the source of a subscription and returns the channel for the
// resolver. Each update is executed once for each selection, and its bytes go to all
// clients with that selection. From does not subscribe to s. The server must have
// prepared the context with [WithHandoff], once for each call.
func From[T any](ctx context.Context, s Source) (<-chan T, error) {
	h := handoffOf(ctx)
	if h == nil || h.source != nil {
		return nil, apierror.New(apierror.Internal, "This subscription could not be started.")
	}
	values := make(chan T, 1)
	h.source = s
	h.deliver = func(v any) error {
		typed, ok := v.(T)
		if !ok {
			return apierror.New(apierror.Internal, "This update could not be sent.")
		}
		select {
		case values <- typed:
			return nil
		default:
			return errors.New("deliver update: the previous one was not executed")
		}
	}
	h.take = func() {
		select {
		case <-values:
		default:
		}
	}
	return values, nil
}
