package gqlserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// Message types. Clients may send those of the first group.
const (
	messageInit      = "connection_init"
	messageSubscribe = "subscribe"
	messageComplete  = "complete" // sent by the server too
	messagePing      = "ping"
	messagePong      = "pong" // sent by the server too

	messageAck   = "connection_ack"
	messageNext  = "next"
	messageError = "error"
)

const maxOperationID = 128 // bytes

// A message is one client message.
type message struct {
	kind    string
	id      string          // of subscribe and complete
	payload json.RawMessage // an object, or nil
}

// parseMessage parses a message of the protocol. It requires a known type, an id if the type
// needs one, and a payload that is an object, null or absent. It ignores other fields. The error
// may be shown to the client.
func parseMessage(text []byte) (message, error) {
	if !utf8.Valid(text) {
		return message{}, errors.New("the message is not UTF-8")
	}
	fields, err := request.Object(jsonbody.TrimBOM(text))
	if err != nil {
		return message{}, errors.New("the message is not a JSON object")
	}
	var m message
	if m.kind, err = request.String(fields["type"]); err != nil {
		return message{}, errors.New("the message's type is not a string")
	}
	switch m.kind {
	case messageInit, messagePing, messagePong:
	case messageSubscribe, messageComplete:
		m.id, err = request.String(fields["id"])
		if err != nil || m.id == "" || len(m.id) > maxOperationID {
			return message{}, errors.New("the message's id is not a string of 1 to 128 bytes")
		}
	default:
		return message{}, errors.New("the message's type is unknown")
	}
	if m.payload = fields["payload"]; request.IsNull(m.payload) {
		m.payload = nil
	} else if m.payload[0] != '{' {
		return message{}, errors.New("the message's payload is not an object")
	}
	return m, nil
}

// params returns the payload of subscribe.
func (m message) params(known *request.Interner) (*graphql.RawParams, error) {
	found, ok := request.Scan(m.payload, math.MaxInt, math.MaxInt)
	switch {
	case !ok:
		return nil, errors.New("the payload is not an object")
	case found.Query == nil:
		return nil, errors.New("the payload has no query")
	}
	params, err := known.Params(found)
	if err != nil {
		return nil, fmt.Errorf("the payload's %w", err)
	}
	return params, nil
}

// errCredentials is returned for credentials that cannot be used.
var errCredentials = errors.New("the payload's credentials are not a Bearer token")

// credentials returns the token in the payload of connection_init, or "".
//
// Clients name it "authorization", "authToken", "accessToken" or "token", in any case, at the
// top level or under "headers". Null and the empty string count as none. Two different tokens
// and a token of another type return [errCredentials]: a client that tries to sign in must not
// become anonymous.
func (m message) credentials() (token string, err error) {
	if m.payload == nil {
		return "", nil
	}
	fields, err := request.Object(m.payload)
	if err != nil {
		return "", errors.New("the payload is not an object")
	}
	tokens, err := tokensIn(nil, fields)
	if err != nil {
		return "", err
	}
	for name, value := range fields {
		if !strings.EqualFold(name, "headers") || isEmpty(value) {
			continue
		}
		headers, err := request.Object(value)
		if err != nil {
			return "", errCredentials
		}
		if tokens, err = tokensIn(tokens, headers); err != nil {
			return "", err
		}
	}
	for _, other := range tokens {
		if token = tokens[0]; other != token {
			return "", errCredentials
		}
	}
	return token, nil
}

// isEmpty reports whether a JSON value means no headers.
func isEmpty(value json.RawMessage) bool {
	return request.IsNull(value) || string(value) == `""` || string(value) == "[]"
}

func tokensIn(tokens []string, fields map[string]json.RawMessage) ([]string, error) {
	for name, value := range fields {
		needsScheme := false
		switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(strings.TrimSpace(name))) {
		case "authorization":
			needsScheme = true
		case "authtoken", "accesstoken", "token":
		default:
			continue
		}
		if request.IsNull(value) {
			continue
		}
		text, err := request.String(value)
		if err != nil {
			return nil, errCredentials
		}
		words := strings.Fields(text)
		switch {
		case len(words) == 0:
		case len(words) == 2 && strings.EqualFold(words[0], "Bearer"):
			tokens = append(tokens, words[1])
		case len(words) == 1 && !needsScheme && !strings.EqualFold(words[0], "Bearer"):
			tokens = append(tokens, words[0])
		default:
			return nil, errCredentials
		}
	}
	return tokens, nil
}

// encodeMessage returns a message to the client. It omits an empty id and a nil payload.
func encodeMessage(kind, id string, payload []byte) []byte {
	b := make([]byte, 0, len(kind)+len(id)+len(payload)+48)
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, '"')
	if id != "" {
		quoted, _ := json.Marshal(id) // strings cannot fail
		b = append(append(b, `,"id":`...), quoted...)
	}
	if payload != nil {
		b = append(append(b, `,"payload":`...), payload...)
	}
	return append(b, '}')
}
