package faulttest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

//go:embed graphql/*.graphql
var graphqlFiles embed.FS

const (
	requestTimeout = 2500 * time.Millisecond // for one request; after it the result is unknown
	connsPerServer = 64
	maxAnswer      = 1 << 20
)

// Codes that the client assigns to answers without an error code.
const (
	codeAbsent    = "ABSENT"     // order(id) is null
	codeSignedOut = "SIGNED_OUT" // me is null
	codeWrongUser = "WRONG_USER" // me is another user
	codeMissing   = "NO_CODE"    // an error without a code
)

// client sends requests and records each of them. It is safe for concurrent use.
type client struct {
	system  System
	history *History
	healthy func() (since time.Time, ok bool)
	http    *http.Client
	texts   map[Op]string
}

func newClient(system System, history *History, healthy func() (time.Time, bool)) (*client, error) {
	if healthy == nil {
		healthy = func() (time.Time, bool) { return time.Time{}, false }
	}
	c := &client{
		system: system, history: history, healthy: healthy, texts: map[Op]string{},
		http: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: connsPerServer, MaxConnsPerHost: 2 * connsPerServer, IdleConnTimeout: time.Minute,
		}},
	}
	for _, op := range []Op{OpOpen, OpEdit, OpOrder, OpRead, OpPay, OpCancel, OpMe} {
		text, err := graphqlFiles.ReadFile("graphql/" + string(op) + ".graphql")
		if err != nil {
			return nil, fmt.Errorf("read operation %s: %w", op, err)
		}
		c.texts[op] = string(text)
	}
	return c, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// answer is the answer of any operation.
type answer struct {
	Data struct {
		OrderVoucher, PayOrder, CancelOrder    *orderPayload
		CreateFlashVoucher, UpdateFlashVoucher *voucherPayload
		Order                                  *shownOrder
		Me                                     *struct{ ID string }
	}
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

type reason struct{ Code string }

type shownOrder struct {
	ID, Status string
	Failure    *reason
}

type orderPayload struct {
	Order      *shownOrder
	UserErrors []reason
}

type voucherPayload struct {
	Voucher *struct {
		ID   string
		Sale struct{ InitialStock int }
	}
	UserErrors []reason
}

// do sends a request as a person, completes the event with the answer, records it and returns
// it. variables belong to the operation.
func (c *client) do(ctx context.Context, as Person, e Event, variables map[string]any) Event {
	e.User = as.ID
	since, calm := c.healthy()
	begin := time.Now()
	e.Start = c.history.Now()
	a, err := c.send(ctx, e.Server, as.Token, c.texts[e.Op], variables)
	e.End = c.history.Now()
	if still, ok := c.healthy(); calm && ok && still.Equal(since) {
		e.Calm = max(0, begin.Sub(since))
	}
	if err != nil {
		e.Code, e.Note = Unknown, err.Error()
	} else {
		e.read(a)
	}
	c.history.Add(e)
	return e
}

// send returns a readable answer. It ends after a short timeout, even if ctx does not end.
func (c *client) send(ctx context.Context, server int, token, text string, variables map[string]any) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"query": text, "variables": variables})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.system.URL(server)+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer %d: %w", res.StatusCode, err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("answer %d is not GraphQL: %.80q", res.StatusCode, raw)
	}
	if len(a.Errors) == 0 && res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("unexpected status %d", res.StatusCode)
	}
	return &a, nil
}

// read completes the event with an answer.
func (e *Event) read(a *answer) {
	if len(a.Errors) > 0 {
		first := a.Errors[0]
		if e.Code = first.Extensions.Code; e.Code == "" {
			e.Code, e.Note = codeMissing, fmt.Sprintf("%.80q", first.Message)
		}
		return
	}
	var err error
	switch d := a.Data; e.Op {
	case OpOrder:
		err = e.readOrder(d.OrderVoucher)
	case OpPay:
		err = e.readOrder(d.PayOrder)
	case OpCancel:
		err = e.readOrder(d.CancelOrder)
	case OpOpen:
		err = e.readVoucher(d.CreateFlashVoucher)
	case OpEdit:
		err = e.readVoucher(d.UpdateFlashVoucher)
	case OpRead:
		if d.Order == nil {
			e.Code = codeAbsent
			return
		}
		e.setOrder(d.Order)
	case OpMe:
		switch {
		case d.Me == nil:
			e.Code = codeSignedOut
		case d.Me.ID != e.User:
			e.Code, e.Note = codeWrongUser, d.Me.ID
		}
	}
	if err != nil {
		e.Code, e.Note = Unknown, err.Error()
	}
}

var errEmpty = errors.New("answer has neither data nor a reason")

func (e *Event) readOrder(p *orderPayload) error {
	if p == nil || (p.Order == nil && len(p.UserErrors) == 0) {
		return errEmpty
	}
	e.Code = codesOf(p.UserErrors)
	if p.Order != nil {
		e.setOrder(p.Order)
	}
	return nil
}

// setOrder records the order of an answer, even if another was requested; the checks find
// that.
func (e *Event) setOrder(o *shownOrder) {
	e.Order, e.Status = o.ID, o.Status
	if o.Failure != nil {
		e.Failure = o.Failure.Code
	}
}

func (e *Event) readVoucher(p *voucherPayload) error {
	if p == nil || (p.Voucher == nil && len(p.UserErrors) == 0) {
		return errEmpty
	}
	if e.Code = codesOf(p.UserErrors); p.Voucher != nil {
		e.Voucher, e.Stock = p.Voucher.ID, p.Voucher.Sale.InitialStock
	}
	return nil
}

// codesOf joins the codes; usually there is one.
func codesOf(reasons []reason) string {
	if len(reasons) == 0 {
		return ""
	}
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	return strings.Join(codes, " ")
}
