package livetest

import (
	"context"
	_ "embed" // for the subscription
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

const (
	connectTimeout = 10 * time.Second       // for the start of a subscription
	retryAfter     = 100 * time.Millisecond // maximum, after a failure
	maxPause       = 40 * time.Millisecond  // between connections
)

//go:embed updates.graphql
var subscription string

// follower is the client of one user. It connects, resumes from its last cursor, and soon
// disconnects without closing the subscription, as phones do.
type follower struct {
	world    *faulttest.World
	person   faulttest.Person
	sse      bool
	life     time.Duration   // mean life of its connections; 0 if it stays
	begin    time.Time       // start of the run
	stay     <-chan struct{} // closed when it must no longer disconnect
	counters *counters

	mu     sync.Mutex
	cursor string
	client Client
}

// run reconnects until ctx ends.
func (f *follower) run(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		server := r.IntN(f.world.Servers())
		err := f.connect(ctx, server, r)
		if ctx.Err() != nil {
			return
		}
		pause := maxPause
		if err != nil {
			f.counters.add(endOf(err))
			pause = retryAfter
		}
		_ = clock.Sleep(ctx, time.Duration(r.Int64N(int64(pause))))
	}
}

var errLeft = errors.New("the client disconnected")

// endOf describes why a connection ended, without numbers.
func endOf(err error) string {
	var ended *endError
	switch {
	case errors.Is(err, errLeft):
		return "the client disconnected"
	case errors.As(err, &ended):
		return ended.reason
	}
	return "connection lost"
}

// endError is a refusal or an end by the server.
type endError struct{ reason string }

func (e *endError) Error() string { return e.reason }

func endedWith(format string, args ...any) error { return &endError{fmt.Sprintf(format, args...)} }

// connect makes one connection and returns when it ends.
func (f *follower) connect(ctx context.Context, server int, r *rand.Rand) error {
	f.mu.Lock()
	after := f.cursor
	number, _ := numberOf(after) // already parsed
	n := len(f.client.Conns)
	f.client.Conns = append(f.client.Conns, Conn{Server: server, SSE: f.sse, After: number, Begin: time.Since(f.begin)})
	f.mu.Unlock()
	living, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	connecting := time.AfterFunc(connectTimeout, func() { leave(endedWith("no subscription after %v", connectTimeout)) })
	defer connecting.Stop()
	ended := make(chan struct{})
	defer close(ended)
	begun := func() {
		connecting.Stop()
		f.counters.connected(f.sse)
		if f.life == 0 {
			return
		}
		life := time.Duration(r.ExpFloat64() * float64(f.life))
		go func() {
			timer := time.NewTimer(life)
			defer timer.Stop()
			select {
			case <-timer.C:
				leave(errLeft)
			case <-f.stay: // the server or ctx ends the connection
			case <-ended:
			}
		}()
	}
	var err error
	if url := f.world.URL(server) + "/graphql"; f.sse {
		err = stream(living, url, f.person.Token, after, r.IntN(2) == 0, begun, func(text []byte, id string) error { return f.receive(n, text, id) })
	} else {
		err = socket(living, url, f.person.Token, after, begun, func(text []byte) error { return f.receive(n, text, "") })
	}
	if cause := context.Cause(living); cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// response is one message of the subscription.
type response struct {
	Data *struct {
		FeedUpdates struct {
			Typename Kind `json:"__typename"`
			Cursor   string
			Note     *struct{ ID, Title string }
			NoteID   string
		}
	}
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

// receive processes one message. id is its event id in an event stream.
func (f *follower) receive(conn int, text []byte, id string) error {
	var res response
	if err := json.Unmarshal(text, &res); err != nil {
		return endedWith("not GraphQL: %.60q", text)
	}
	if len(res.Errors) > 0 || res.Data == nil {
		if len(res.Errors) == 0 {
			return endedWith("no data: %.60q", text)
		}
		f.counters.recordError(res.Errors[0].Extensions.Code, res.Errors[0].Message)
		return endedWith("error %s", res.Errors[0].Extensions.Code)
	}
	u := res.Data.FeedUpdates
	seq, err := numberOf(u.Cursor)
	if err != nil {
		f.counters.flaw("cursor %q: %v", u.Cursor, err)
		return err
	}
	if f.sse && id != u.Cursor {
		f.counters.flaw("an event with id %q has cursor %q", id, u.Cursor)
	}
	note := ""
	switch u.Typename {
	case Added:
		if u.Note == nil {
			f.counters.flaw("%s without a note", u.Typename)
			return endedWith("no note")
		}
		note = u.Note.ID
	case Removed:
		note = u.NoteID
	case Ready, Resync:
	default:
		f.counters.flaw("unknown type %q", u.Typename)
	}
	one := Delivered{At: time.Since(f.begin), Kind: u.Typename, Seq: seq, Conn: conn}
	if note != "" {
		if one.Note, err = idOf("Note", note); err != nil {
			f.counters.flaw("note %q: %v", note, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cursor == "" { // it started without one
		if u.Typename != Ready {
			f.counters.flaw("a client without a cursor got %s first", u.Typename)
		}
		f.client.From = seq
	}
	f.cursor = u.Cursor
	f.client.Received = append(f.client.Received, one)
	f.counters.received.Add(1)
	return nil
}

// receivedAt returns when the client received the publication of a note.
func (f *follower) receivedAt(note int64) (at time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range slices.Backward(f.client.Received) {
		if t.Kind == Added && t.Note == note {
			return t.At, true
		}
	}
	return 0, false
}

// result returns the messages so far.
func (f *follower) result() Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.client
}

// numberOf returns the number in a cursor: the last element of a JSON array in base64url.
func numberOf(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) == 0 {
		return 0, fmt.Errorf("invalid cursor %.60q: want a list", text)
	}
	var n int64
	if err := json.Unmarshal(parts[len(parts)-1], &n); err != nil {
		return 0, fmt.Errorf("invalid cursor %.60q: %w", text, err)
	}
	return n, nil
}

// idOf returns the number in a global id.
func idOf(typ, text string) (int64, error) {
	id, err := scalar.ParseID(text)
	if err != nil {
		return 0, err
	}
	return id.Of(typ)
}
