package live

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tandian-dev/tandian/lab/livebench"
)

// A protocol is the protocol between a subscriber and a server.
type protocol string

const (
	graphQL    protocol = "graphql-transport-ws"
	centrifugo protocol = "centrifuge"
)

// A step of a subscriber: a message to send, and the text of the response that completes it.
type step struct {
	send   []byte
	expect string
}

// subscribed returns the steps until the subscription is active. token is that of a user, "" if the
// server has no users.
func (p protocol) subscribed(addr, token string, i int) []step {
	path, headers := "/graphql", "Sec-WebSocket-Protocol: graphql-transport-ws\r\n"
	if p == centrifugo {
		path, headers = "/connection/websocket", ""
	}
	upgrade := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n", path, addr, headers)
	text := func(t string) []byte { return clientFrame(opText, t) }
	if p == centrifugo {
		return []step{
			{upgrade, "\r\n\r\n"},
			{text(`{"id":1,"connect":{}}`), `"connect":`},
			{text(`{"id":2,"subscribe":{"channel":"feed"}}`), `"subscribe":`},
		}
	}
	query, _ := json.Marshal(livebench.Document) // a string has JSON
	first := `{"type":"connection_init"}`
	if token != "" {
		first = fmt.Sprintf(`{"type":"connection_init","payload":{"authorization":"Bearer %s"}}`, token)
	}
	return []step{
		{upgrade, "\r\n\r\n"},
		{text(first), `"connection_ack"`},
		{text(fmt.Sprintf(`{"id":"7d0d1a52-2f0e-4f4e-9c65-%012x","type":"subscribe","payload":{"query":%s}}`, i, query)), `"FeedReady"`},
	}
}

// pong returns the reply to a message without an item; nil if there is none.
func (p protocol) pong(message []byte) (answer []byte, err error) {
	text := string(message)
	switch {
	case p == centrifugo && text == "{}":
		return clientFrame(opText, "{}"), nil
	case p == graphQL && strings.Contains(text, `"type":"ping"`):
		return clientFrame(opText, `{"type":"pong"}`), nil
	case p == graphQL && strings.Contains(text, `"type":"pong"`):
		return nil, nil
	}
	return nil, fmt.Errorf("unexpected message %.300s", text)
}
