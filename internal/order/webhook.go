package order

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
	"github.com/tandian-dev/tandian/internal/kit/webhook"
)

// maxNotice is the maximum size of a provider's notice in bytes.
const maxNotice = 16 << 10

// A paymentEvent is a provider's notice about a payment attempt.
type paymentEvent struct {
	OrderNumber string       `json:"orderNumber"`
	Attempt     int          `json:"attempt"`
	State       PaymentState `json:"state"`
	Amount      *int         `json:"amount"` // minor units
	Currency    string       `json:"currency"`
}

// Webhook handles the notices of a payment provider, for POST /webhooks/payment. A notice is
// JSON: {"orderNumber", "attempt", "state", "amount", "currency"}. The state is CONFIRMED,
// REFUSED or, after a refund, REFUNDED. The amount is that of the attempt, in minor units. The
// header has the signature of kit/webhook.
//
// The response has one of these statuses:
//
//   - 204: the notice is processed, now or earlier. A provider may repeat it.
//   - 400: a field is missing or invalid.
//   - 401: the signature is wrong.
//   - 404: the attempt is unknown, or there is no secret.
//   - 405: the method is not POST.
//   - 409: amount or currency differ from those of the attempt.
//   - 413: the notice is larger than 16 KB.
//   - 503: the provider must send the notice again.
func (s *Service) Webhook(secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if secret == "" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(s.handleNotice(w, r, []byte(secret)))
	})
}

func (s *Service) handleNotice(w http.ResponseWriter, r *http.Request, secret []byte) int {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return http.StatusBadRequest
	}
	if !webhook.Verify(secret, body, r.Header.Get(webhook.Header)) {
		return http.StatusUnauthorized
	}
	var n paymentEvent
	if err := json.Unmarshal(jsonbody.TrimBOM(body), &n); err != nil || !n.valid() {
		return http.StatusBadRequest
	}
	order, err := strconv.ParseInt(n.OrderNumber, 10, 64)
	if err != nil {
		return http.StatusNotFound
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	if status := s.compareNotice(ctx, attempt{order, n.Attempt}, n); status != 0 {
		return status
	}
	err = s.Confirm(ctx, order, n.Attempt, n.State)
	switch {
	case errors.Is(err, apierror.ErrNotFound):
		return http.StatusNotFound
	case err != nil:
		s.metrics.failed(ctx, "webhook", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusNoContent
}

func (n paymentEvent) valid() bool {
	return slices.Contains([]PaymentState{Confirmed, Refused, Returned}, n.State) && n.Amount != nil && n.Currency != ""
}

// compareNotice compares a notice with its attempt. It returns the status of a refusal, or 0.
// Amount and currency of an attempt never change.
func (s *Service) compareNotice(ctx context.Context, a attempt, n paymentEvent) int {
	p, err := s.payment(ctx, a)
	switch {
	case err != nil:
		s.metrics.failed(ctx, "webhook", err)
		return http.StatusServiceUnavailable
	case p == nil || p.Method == payment.MethodBALANCE:
		return http.StatusNotFound
	case *n.Amount != p.Amount || n.Currency != p.Currency:
		s.metrics.count("mismatched", 1)
		s.metrics.failed(ctx, "webhook", fmt.Errorf("compare notice %s of attempt %d of order %d: amount is %d %.3q, want %d %s",
			n.State, a.Attempt, a.Order, *n.Amount, n.Currency, p.Amount, p.Currency))
		return http.StatusConflict
	}
	return 0
}
