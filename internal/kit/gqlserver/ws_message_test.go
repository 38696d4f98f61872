package gqlserver

import (
	"encoding/json"
	"slices"
	"testing"
)

func FuzzClientMessages(f *testing.F) {
	for _, seed := range []string{
		`{"type":"connection_init","payload":{"authorization":"Bearer x"}}`,
		`{"type":"subscribe","id":"1","payload":{"query":"{a}","operationName":"b","variables":{"c":[1.5e3]},"extensions":null}}`,
		` {"id":"\u0000\ud800","type":"complete"} `, `{"type":"ping","payload":{}}`, `null`, `[]`, `{"type":null}`, "{\"type\":\"pong\",\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMessage(text)
		if err != nil {
			if len(err.Error()) > 123 {
				t.Errorf("%q is too long for a close frame", err)
			}
			return
		}
		switch {
		case !slices.Contains([]string{messageInit, messageSubscribe, messageComplete, messagePing, messagePong}, m.kind):
			t.Errorf("got type %q, want a client message", m.kind)
		case len(m.id) > maxOperationID, m.id == "" && (m.kind == messageSubscribe || m.kind == messageComplete):
			t.Errorf("got invalid id %q", m.id)
		case m.payload != nil && (m.payload[0] != '{' || !json.Valid(m.payload)):
			t.Errorf("got payload %q, want an object", m.payload)
		}
		_, _ = m.credentials()
		if params, err := m.params(nil); err == nil && m.payload == nil {
			t.Errorf("got %+v without a payload, want an error", params)
		}
		var decoded struct {
			Type, ID string
			Payload  json.RawMessage
		}
		if err := json.Unmarshal(encodeMessage(m.kind, m.id, m.payload), &decoded); err != nil {
			t.Errorf("decode frame: %v", err)
		}
		if decoded.Type != m.kind || decoded.ID != m.id {
			t.Errorf("got %q, %q, want %q, %q", decoded.Type, decoded.ID, m.kind, m.id)
		}
	})
}
