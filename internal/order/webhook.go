package order

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
	"github.com/tandian-dev/tandian/internal/kit/webhook"
)

// maxNotice is how many bytes a provider's notice may have.
const maxNotice = 16 << 10

// A notice is what a provider says about an attempt to pay.
type notice struct {
	OrderNumber string       `json:"orderNumber"`
	Attempt     int          `json:"attempt"`
	State       PaymentState `json:"state"`
}

// Webhook takes the words of a payment provider, for POST /webhooks/payment: JSON
// {"orderNumber", "attempt", "state": "CONFIRMED", "REFUSED" or, of money that is to go
// back, "REFUNDED"}, with the signature of kit/webhook. The answer is 204 when the word was taken, then or before: a notice may
// be repeated, by whomever. 404 says that there is no such attempt, or that there is no
// secret; 401 that the signature is wrong; 413 that there are more than 16 KB; 503 that
// it is to be sent again.
func (s *Service) Webhook(secret string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if secret == "" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(s.notified(w, r, []byte(secret)))
	})
}

// notified takes one notice and returns the status to answer with.
func (s *Service) notified(w http.ResponseWriter, r *http.Request, secret []byte) int {
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
	var n notice
	if err := json.Unmarshal(jsonbody.TrimBOM(body), &n); err != nil || !slices.Contains([]PaymentState{Confirmed, Refused, Returned}, n.State) {
		return http.StatusBadRequest
	}
	order, err := strconv.ParseInt(n.OrderNumber, 10, 64)
	if err != nil {
		return http.StatusNotFound
	}
	err = s.Confirm(r.Context(), order, n.Attempt, n.State)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return http.StatusNotFound
	case err != nil:
		s.metrics.failed(r.Context(), "webhook", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusNoContent
}
