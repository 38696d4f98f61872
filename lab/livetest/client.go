package livetest

import (
	"context"
	_ "embed" // the subscription
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
	connectPatience = 10 * time.Second       // until a subscription begins
	retryAfter      = 100 * time.Millisecond // at most, when it did not
	pauseMost       = 40 * time.Millisecond  // between connections
)

//go:embed updates.graphql
var subscription string

// A follower follows its user's live feed: it connects, goes on from the last cursor that it
// was told, and soon goes away again without a word, as phones do.
type follower struct {
	place  *faulttest.World
	person faulttest.Person
	sse    bool
	life   time.Duration   // mean of its connections; 0 if it stays
	begin  time.Time       // of the run
	stay   <-chan struct{} // closed when it is to go away no more
	count  *tally

	mu     sync.Mutex
	cursor string
	client Client
}

// run is over when ctx is.
func (f *follower) run(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		server := r.IntN(f.place.Servers())
		err := f.connect(ctx, server, r)
		if ctx.Err() != nil {
			return
		}
		pause := pauseMost
		if err != nil {
			f.count.add(endOf(err))
			pause = retryAfter
		}
		_ = clock.Sleep(ctx, time.Duration(r.Int64N(int64(pause))))
	}
}

var errLeft = errors.New("the client went away")

// endOf is why a connection ended, in a few words without numbers.
func endOf(err error) string {
	var said *saidError
	switch {
	case errors.Is(err, errLeft):
		return "the client went away"
	case errors.As(err, &said):
		return said.what
	}
	return "broken off"
}

// A saidError is what a server said instead of going on.
type saidError struct{ what string }

func (e *saidError) Error() string { return e.what }

func said(format string, args ...any) error { return &saidError{fmt.Sprintf(format, args...)} }

// connect is one connection, from its beginning to its end.
func (f *follower) connect(ctx context.Context, server int, r *rand.Rand) error {
	f.mu.Lock()
	after := f.cursor
	number, _ := numberOf(after) // it was read before
	n := len(f.client.Conns)
	f.client.Conns = append(f.client.Conns, Conn{Server: server, SSE: f.sse, After: number, Begin: time.Since(f.begin)})
	f.mu.Unlock()
	living, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	connecting := time.AfterFunc(connectPatience, func() { leave(said("no subscription after %v", connectPatience)) })
	defer connecting.Stop()
	goAway := make(chan struct{})
	defer close(goAway)
	begun := func() {
		connecting.Stop()
		f.count.connected(f.sse)
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
			case <-f.stay: // and what ends this connection is somebody else
			case <-goAway:
			}
		}()
	}
	var err error
	if url := f.place.URL(server) + "/graphql"; f.sse {
		err = stream(living, url, f.person.Token, after, r.IntN(2) == 0, begun, func(text []byte, id string) error { return f.told(n, text, id) })
	} else {
		err = socket(living, url, f.person.Token, after, begun, func(text []byte) error { return f.told(n, text, "") })
	}
	if cause := context.Cause(living); cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// A response is one answer of the subscription.
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

// told takes in one answer. id is that of its event, in a stream.
func (f *follower) told(conn int, text []byte, id string) error {
	var res response
	if err := json.Unmarshal(text, &res); err != nil {
		return said("no GraphQL: %.60q", text)
	}
	if len(res.Errors) > 0 || res.Data == nil {
		if len(res.Errors) == 0 {
			return said("no data: %.60q", text)
		}
		f.count.refused(res.Errors[0].Extensions.Code, res.Errors[0].Message)
		return said("error %s", res.Errors[0].Extensions.Code)
	}
	u := res.Data.FeedUpdates
	seq, err := numberOf(u.Cursor)
	if err != nil {
		f.count.wrong("the cursor %q: %v", u.Cursor, err)
		return err
	}
	if f.sse && id != u.Cursor {
		f.count.wrong("an event with the id %q has the cursor %q", id, u.Cursor)
	}
	note := ""
	switch u.Typename {
	case Added:
		if u.Note == nil {
			f.count.wrong("%s without a note", u.Typename)
			return said("no note")
		}
		note = u.Note.ID
	case Removed:
		note = u.NoteID
	case Ready, Resync:
	default:
		f.count.wrong("the client was told %q", u.Typename)
	}
	one := Delivered{At: time.Since(f.begin), Kind: u.Typename, Seq: seq, Conn: conn}
	if note != "" {
		if one.Note, err = idOf("Note", note); err != nil {
			f.count.wrong("the note %q: %v", note, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cursor == "" { // it began without one
		if u.Typename != Ready {
			f.count.wrong("a client without a cursor was told %s first", u.Typename)
		}
		f.client.From = seq
	}
	f.cursor = u.Cursor
	f.client.Told = append(f.client.Told, one)
	f.count.told.Add(1)
	return nil
}

// has says when the client was told that a note was published.
func (f *follower) has(note int64) (at time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range slices.Backward(f.client.Told) {
		if t.Kind == Added && t.Note == note {
			return t.At, true
		}
	}
	return 0, false
}

// result is what was told so far.
func (f *follower) result() Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.client
}

// numberOf is the number in a cursor: the last of a JSON array in base64url.
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
		return 0, fmt.Errorf("the cursor %.60q is no list", text)
	}
	var n int64
	if err := json.Unmarshal(parts[len(parts)-1], &n); err != nil {
		return 0, fmt.Errorf("the cursor %.60q has no number: %w", text, err)
	}
	return n, nil
}

// idOf is the number in a global id.
func idOf(typ, text string) (int64, error) {
	id, err := scalar.ParseID(text)
	if err != nil {
		return 0, err
	}
	return id.Of(typ)
}
