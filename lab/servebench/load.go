package servebench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// A request is the whole text of a request, with its correct response.
type request struct {
	wire []byte
	want []byte // what the body begins with, or what it contains
	all  int    // bytes of the body; 0: want is contained somewhere
}

// graphErrors begins the list of errors in an answer. UserErrors are another field.
var graphErrors = []byte(`"errors":`) //nolint:gochecknoglobals // a constant that Go cannot say

// right reports whether a response is the wanted one, without GraphQL errors.
func (r *request) right(answer []byte) bool {
	if r.all == 0 {
		return bytes.Contains(answer, r.want) && !bytes.Contains(answer, graphErrors)
	}
	return len(answer) == r.all && bytes.HasPrefix(answer, r.want)
}

// bareRequests returns the same requests to a handler that answers spaces.
func bareRequests(requests []request) []request {
	bare := make([]request, len(requests))
	for i, r := range requests {
		bare[i] = request{wire: r.wire}
	}
	return bare
}

// A load sends requests over connections that each wait for the response.
type load struct {
	addr        string
	connections int
	requests    []request
}

// outcomes holds the outcomes of a load.
type outcomes struct {
	n, wrong int // right answers, and others
	example  string
	took     harness.Samples
	all      time.Duration
}

func (o *outcomes) rate() float64 { return float64(o.n) / o.all.Seconds() }

// closed sends the next request of each connection right after the previous response. It ends after
// a time, or when every request was sent once unless they repeat.
func (l load) closed(ctx context.Context, dur time.Duration, repeat bool) *outcomes {
	end := time.Now().Add(dur)
	return l.run(ctx, func(n int) (due time.Time, more bool) {
		now := time.Now()
		return now, now.Before(end) && (repeat || n < len(l.requests))
	})
}

// open sends requests at a fixed rate, whether or not earlier ones are answered, as far as there
// are connections. The time of a response counts from the planned time of its request, so that a
// server that stalls delays all requests of that time (no coordinated omission).
func (l load) open(ctx context.Context, dur time.Duration, rate float64, repeat bool) *outcomes {
	begin, all := time.Now(), int(rate*dur.Seconds())
	return l.run(ctx, func(n int) (due time.Time, more bool) {
		if n >= all || !repeat && n >= len(l.requests) {
			return begin, false
		}
		due = begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		return due, true
	})
}

func (l load) run(ctx context.Context, next func(n int) (due time.Time, more bool)) *outcomes {
	each := make([]outcomes, l.connections)
	var number atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := range each {
		all.Go(func() {
			o := &each[i]
			c := testbed.Conn{Addr: l.addr}
			defer c.Close()
			for ctx.Err() == nil {
				n := int(number.Add(1)) - 1
				due, more := next(n)
				if !more {
					return
				}
				r := &l.requests[n%len(l.requests)]
				answer, err := c.Ask(ctx, r.wire)
				switch {
				case err != nil:
					o.wrong++
					o.example = err.Error()
				case c.Status != http.StatusOK:
					o.wrong++
					o.example = fmt.Sprintf("status %d: %.300s", c.Status, answer)
				case !r.right(answer):
					o.wrong++
					o.example = fmt.Sprintf("%.300s, not %.300s", answer, r.want)
				default:
					o.n++
					o.took = append(o.took, time.Since(due))
				}
			}
		})
	}
	all.Wait()
	whole := &outcomes{all: time.Since(begin)}
	for _, o := range each {
		whole.n, whole.wrong, whole.took = whole.n+o.n, whole.wrong+o.wrong, append(whole.took, o.took...)
		if o.example != "" {
			whole.example = o.example
		}
	}
	return whole
}
