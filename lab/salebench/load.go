package salebench

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// A load sends each request once, over connections that each wait for the response. It is minimal,
// because it shares the machine with the measured server: it builds the requests beforehand, and
// searches responses only for the words that classify them. It never retries.
type load struct {
	addr        string // of the server
	connections int
	requests    [][]byte // whole, with their headers
}

// outcomes counts the outcomes of a load.
type outcomes struct {
	won, queued, refused int             // queued is part of won; refused is sold out
	other                int             // all other answers
	failed               int             // requests without an answer
	signedOut            int             // UNAUTHENTICATED answers
	example              string          // one of the others
	broken               error           // of one of the failed
	took                 harness.Samples // of each answer
	wins                 []win           // by request; zero without a win
	all                  time.Duration
	bytes                int // of a winning answer
}

// A win holds the time at which a buyer got a successful response, since the start of the load.
type win struct{ at time.Duration }

// Words that classify responses. Those of a bare server match a queued order.
var (
	markQueued    = []byte(`"status":"QUEUED"`)
	markUnpaid    = []byte(`"status":"UNPAID"`)
	markSoldOut   = []byte(`"code":"OUT_OF_STOCK"`)
	markSignedOut = []byte(`UNAUTHENTICATED`)
	markMe        = []byte(`{"data":{"me":{"id":"`)
)

// run sends all requests. It counts failures and continues.
func (l load) run(ctx context.Context) *outcomes {
	o := &outcomes{wins: make([]win, len(l.requests)), took: make(harness.Samples, len(l.requests))}
	each := make([]outcomes, l.connections)
	var next atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := range each {
		all.Go(func() {
			one := &each[i]
			c := testbed.Conn{Addr: l.addr}
			defer c.Close()
			for n := int(next.Add(1)) - 1; n < len(l.requests) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				sent := time.Now()
				answer, err := c.Ask(ctx, l.requests[n])
				now := time.Now()
				o.took[n] = now.Sub(sent)
				if one.note(answer, err) {
					o.wins[n].at = now.Sub(begin)
				}
			}
		})
	}
	all.Wait()
	o.all = time.Since(begin)
	for i := range each {
		o.add(&each[i])
	}
	return o
}

// note counts one answer, and reports whether it is a win.
func (o *outcomes) note(answer []byte, err error) bool {
	switch {
	case err != nil:
		o.failed++
		o.broken = err
	case bytes.Contains(answer, markQueued):
		o.won, o.bytes = o.won+1, len(answer)
		o.queued++
		return true
	case bytes.Contains(answer, markUnpaid), bytes.HasPrefix(answer, markMe):
		o.won, o.bytes = o.won+1, len(answer)
		return true
	case bytes.Contains(answer, markSoldOut):
		o.refused++
	default:
		if bytes.Contains(answer, markSignedOut) {
			o.signedOut++
		}
		o.other++
		o.example = string(answer)
	}
	return false
}

func (o *outcomes) add(p *outcomes) {
	o.won, o.queued, o.refused = o.won+p.won, o.queued+p.queued, o.refused+p.refused
	o.other, o.failed, o.signedOut = o.other+p.other, o.failed+p.failed, o.signedOut+p.signedOut
	o.bytes = max(o.bytes, p.bytes)
	if p.example != "" {
		o.example = p.example
	}
	if p.broken != nil {
		o.broken = p.broken
	}
}

// rate returns wins per second.
func (o *outcomes) rate() float64 { return float64(o.won) / o.all.Seconds() }

// odd describes the outcomes other than wins; "" if there were none.
func (o *outcomes) odd() string {
	if o.refused+o.other+o.failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d refused, %d other answers (%.200s), %d without an answer (%v)", o.refused, o.other, o.example, o.failed, o.broken)
}
