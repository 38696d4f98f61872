package gqlserver

import (
	"encoding/json"
	"slices"
	"testing"
)

func FuzzMessagesOfClients(f *testing.F) {
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
			t.Errorf("no client may send %q", m.kind)
		case len(m.id) > maxOperationID, m.id == "" && (m.kind == messageSubscribe || m.kind == messageComplete):
			t.Errorf("the id is %q", m.id)
		case m.payload != nil && (m.payload[0] != '{' || !json.Valid(m.payload)):
			t.Errorf("the payload is %q", m.payload)
		}
		_, _ = m.credentials()
		if params, err := m.params(nil); err == nil && m.payload == nil {
			t.Errorf("%+v was read from no payload", params)
		}
		var back struct {
			Type, ID string
			Payload  json.RawMessage
		}
		if err := json.Unmarshal(encodeMessage(m.kind, m.id, m.payload), &back); err != nil {
			t.Errorf("what is sent back is no JSON: %v", err)
		}
		if back.Type != m.kind || back.ID != m.id {
			t.Errorf("%q, %q became %q, %q", m.kind, m.id, back.Type, back.ID)
		}
	})
}
