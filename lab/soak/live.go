package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	maxMessage     = 1 << 20
	reconnectPause = time.Second
	laterNotes     = 10_000 // newest notes with a known publish time
)

// An audience follows live feeds over WebSockets. It reconnects, and resumes from the last cursor.
type audience struct {
	servers []string
	text    string // of the subscription, as the app has it

	mu        sync.Mutex
	began     map[string]time.Time // start of the publish request by note
	order     []string             // notes, oldest first
	delays    []time.Duration      // from that start until a follower received the note
	reported  int
	connected int
	opened    int
	ended     map[string]int // sockets by reason of their end
}

func newAudience(servers []string, documents map[string]string) (*audience, error) {
	for _, text := range documents {
		if strings.HasPrefix(text, "subscription FeedUpdates(") {
			return &audience{servers: servers, text: text, began: map[string]time.Time{}, ended: map[string]int{}}, nil
		}
	}
	return nil, errors.New("no document of live feeds in the app")
}

// published records a new note. Followers may have received it before.
func (a *audience) published(note string, began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began[note] = began
	if a.order = append(a.order, note); len(a.order) > laterNotes {
		delete(a.began, a.order[0])
		a.order = slices.Clone(a.order[1:])
	}
}

// follow follows the feed of a person until ctx ends.
func (a *audience) follow(ctx context.Context, who person) {
	after := ""
	for ctx.Err() == nil {
		err := a.socket(ctx, who, &after)
		if ctx.Err() != nil {
			return
		}
		reason := "broken"
		if end, ok := errors.AsType[websocket.CloseError](err); ok {
			reason = fmt.Sprint("closed with ", int(end.Code))
		} else if f, ok := errors.AsType[failure](err); ok {
			reason = f.code
		}
		a.mu.Lock()
		a.ended[reason]++
		a.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(reconnectPause):
		}
	}
}

type frame struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// socket is one WebSocket of graphql-transport-ws. After is the last cursor.
func (a *audience) socket(ctx context.Context, who person, after *string) error {
	url := "ws" + strings.TrimPrefix(a.servers[who.n%len(a.servers)], "http") + "/graphql"
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library closes it
		Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"X-Forwarded-For": {who.address()}},
	})
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxMessage)
	if err := say(ctx, conn, "", "connection_init", map[string]any{"authorization": "Bearer " + who.token}); err != nil {
		return err
	}
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err //nolint:wrapcheck // it names the operation
		}
		var got frame
		if err := json.Unmarshal(text, &got); err != nil {
			return failure{"WRONG", "no message"}
		}
		switch got.Type {
		case "connection_ack":
			variables := vars{}
			if *after != "" {
				variables["after"] = *after
			}
			err = say(ctx, conn, "1", "subscribe", map[string]any{"query": a.text, "operationName": "FeedUpdates", "variables": variables})
			a.count(1)
			defer a.count(-1)
		case "next":
			err = a.next(got.Payload, after)
		case "ping":
			err = say(ctx, conn, "", "pong", nil)
		case "error", "complete":
			err = failure{strings.ToUpper(got.Type), string(got.Payload)}
		}
		if err != nil {
			return err
		}
	}
}

func (a *audience) count(by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connected += by
	if by > 0 {
		a.opened++
	}
}

func (a *audience) next(payload json.RawMessage, after *string) error {
	var got struct {
		Data *struct {
			FeedUpdates struct {
				Cursor string
				Note   *struct{ ID string }
			}
		}
	}
	if err := json.Unmarshal(payload, &got); err != nil || got.Data == nil {
		return failure{"WRONG", "no update"}
	}
	*after = got.Data.FeedUpdates.Cursor
	if got.Data.FeedUpdates.Note == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reported++
	if began, ok := a.began[got.Data.FeedUpdates.Note.ID]; ok {
		a.delays = append(a.delays, time.Since(began))
	}
	return nil
}

func say(ctx context.Context, conn *websocket.Conn, id, kind string, payload any) error {
	f := frame{ID: id, Type: kind}
	if payload != nil {
		text, err := json.Marshal(payload)
		if err != nil {
			return fmt.Errorf("write %s: %w", kind, err)
		}
		f.Payload = text
	}
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return conn.Write(ctx, websocket.MessageText, text) //nolint:wrapcheck // it names the operation
}
