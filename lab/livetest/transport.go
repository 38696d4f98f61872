package livetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

const maxMessage = 1 << 20

// variables returns the variables of the subscription.
func variables(after string) map[string]any {
	if after == "" {
		return nil
	}
	return map[string]any{"after": after}
}

// frame is a message of graphql-transport-ws.
type frame struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// socket subscribes by WebSocket and passes each message to take, until ctx ends. It closes
// the connection without a message.
func socket(ctx context.Context, url, token, after string, begun func(), take func(text []byte) error) error {
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // the library closes it
	if err != nil {
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			return endedWith("refused with %d", res.StatusCode)
		}
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxMessage)
	if err := send(ctx, conn, frame{Type: "connection_init"}, map[string]any{"authorization": "Bearer " + token}); err != nil {
		return closed(err)
	}
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return closed(err)
		}
		var got frame
		if err := json.Unmarshal(text, &got); err != nil {
			return endedWith("invalid message: %.60q", text)
		}
		switch got.Type {
		case "connection_ack":
			err = send(ctx, conn, frame{ID: "1", Type: "subscribe"}, map[string]any{"query": subscription, "variables": variables(after)})
			begun()
		case "next":
			err = take(got.Payload)
		case "ping":
			err = send(ctx, conn, frame{Type: "pong"}, nil)
		case "error":
			err = take(fmt.Appendf(nil, `{"errors":%s}`, got.Payload))
		case "complete":
			err = endedWith("complete")
		}
		if err != nil {
			return closed(err)
		}
	}
}

func send(ctx context.Context, conn *websocket.Conn, f frame, payload any) error {
	if payload != nil {
		text, err := json.Marshal(payload)
		if err != nil {
			return err
		}
		f.Payload = text
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, text)
}

// closed converts a close frame of the server into its error.
func closed(err error) error {
	if end, ok := errors.AsType[websocket.CloseError](err); ok {
		return endedWith("closed with %d", end.Code)
	}
	return err
}

// stream subscribes by an event stream and passes each message with its event id to take,
// until ctx ends. It resumes by the Last-Event-ID header, as an EventSource does, or by a
// variable.
func stream(ctx context.Context, url, token, after string, header bool, begun func(), take func(text []byte, id string) error) error {
	query := map[string]any{"query": subscription}
	if !header {
		query["variables"] = variables(after)
	}
	body, err := json.Marshal(query)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	if header && after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	alone := &http.Transport{DisableKeepAlives: true} // its connection ends with the stream
	defer alone.CloseIdleConnections()
	res, err := (&http.Client{Transport: alone}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		if text, err := io.ReadAll(io.LimitReader(res.Body, maxMessage)); err == nil && json.Valid(text) && res.StatusCode == http.StatusOK {
			return take(text, "")
		}
		return endedWith("refused with %d", res.StatusCode)
	}
	begun()
	return events(res.Body, take)
}

// events passes the events of a stream to take until it ends.
func events(from io.Reader, take func(text []byte, id string) error) error {
	lines := bufio.NewReaderSize(from, 16<<10)
	var name, id string
	var data []byte
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n":
			switch name {
			case "next":
				err = take(data, id)
			case "complete":
				err = endedWith("complete")
			}
			if err != nil {
				return err
			}
			name, data = "", nil // the id stays, as in an EventSource
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value...)
		case field == "id":
			id = value
		}
	}
}
