package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
)

// The types of messages. A client may send those of the first group.
const (
	messageInit      = "connection_init"
	messageSubscribe = "subscribe"
	messageComplete  = "complete" // the server's too
	messagePing      = "ping"
	messagePong      = "pong" // the server's too

	messageAck   = "connection_ack"
	messageNext  = "next"
	messageError = "error"
)

const maxOperationID = 128 // bytes

// A message is one that a client sent.
type message struct {
	kind    string
	id      string          // of subscribe and complete
	payload json.RawMessage // an object, or nil
}

// parseMessage reads a message as the protocol wants it: an object with a type
// that a client may send, with an id where one is needed, and no payload that is
// not an object. What else is in it does not matter. The text of an error can
// be shown to the client.
func parseMessage(text []byte) (message, error) {
	if !utf8.Valid(text) {
		return message{}, errors.New("the message is not UTF-8")
	}
	fields, err := object(text)
	if err != nil {
		return message{}, errors.New("the message is not a JSON object")
	}
	var m message
	if m.kind, err = jsonString(fields["type"]); err != nil {
		return message{}, errors.New("the message's type is not a string")
	}
	switch m.kind {
	case messageInit, messagePing, messagePong:
	case messageSubscribe, messageComplete:
		m.id, err = jsonString(fields["id"])
		if err != nil || m.id == "" || len(m.id) > maxOperationID {
			return message{}, errors.New("the message's id is not a string of 1 to 128 bytes")
		}
	default:
		return message{}, errors.New("there is no such type of message for clients")
	}
	if m.payload = fields["payload"]; absent(m.payload) {
		m.payload = nil
	} else if m.payload[0] != '{' {
		return message{}, errors.New("the message's payload is not an object")
	}
	return m, nil
}

// params reads the payload of subscribe.
func (m message) params(known *texts) (*graphql.RawParams, error) {
	found, ok := scanRequest(m.payload, math.MaxInt, math.MaxInt)
	switch {
	case !ok:
		return nil, errors.New("the payload is not an object")
	case found.query == nil:
		return nil, errors.New("the payload has no query")
	}
	params, err := known.params(found)
	if err != nil {
		return nil, fmt.Errorf("the payload's %w", err)
	}
	return params, nil
}

// authorization reads the one in the payload of connection_init, "" for none.
func (m message) authorization() (string, error) {
	if m.payload == nil {
		return "", nil
	}
	fields, err := object(m.payload)
	if err != nil {
		return "", errors.New("the payload is not an object")
	}
	for _, key := range []string{"authorization", "Authorization"} {
		if value := fields[key]; !absent(value) {
			given, err := jsonString(value)
			if err != nil {
				return "", errors.New("the payload's authorization is not a string")
			}
			if given != "" {
				return given, nil
			}
		}
	}
	return "", nil
}

// frame is a message to the client. An empty id and a nil payload are left out.
func frame(kind, id string, payload []byte) []byte {
	b := make([]byte, 0, len(kind)+len(id)+len(payload)+48)
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, '"')
	if id != "" {
		quoted, _ := json.Marshal(id) // a string cannot fail
		b = append(append(b, `,"id":`...), quoted...)
	}
	if payload != nil {
		b = append(append(b, `,"payload":`...), payload...)
	}
	return append(b, '}')
}
