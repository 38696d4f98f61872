package salebench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/measure"
)

// A load is requests that are sent once each, over connections of which each waits
// for its answer. It is as lean as it can be, for it shares the machine with what it
// measures: requests are made before, and of an answer only the words are looked
// for that tell what it is. Nothing is sent twice.
type load struct {
	addr        string // of the server
	connections int
	requests    [][]byte // whole, with their headers
}

// outcomes are how the requests of a load ended.
type outcomes struct {
	won, queued, refused int           // queued of won; refused: the sale said no
	other                int           // answers that are none of these
	failed               int           // requests without an answer
	signedOut            int           // answers that say UNAUTHENTICATED
	example              string        // one of the others
	broken               error         // why one of the failed did
	took                 measure.Times // of each answer
	wins                 []win         // by request; zero of one that did not win
	all                  time.Duration
	bytes                int // of an answer that won
}

// A win is when somebody heard of it, after the begin of the load.
type win struct{ at time.Duration }

// The words of answers. Those of a bare server are of a queued order.
var (
	saysQueued    = []byte(`"status":"QUEUED"`)
	saysUnpaid    = []byte(`"status":"UNPAID"`)
	saysSoldOut   = []byte(`"code":"OUT_OF_STOCK"`)
	saysSignedOut = []byte(`UNAUTHENTICATED`)
	saysMe        = []byte(`{"data":{"me":{"id":"`)
)

// run sends all requests. What goes wrong is counted, the load goes on.
func (l load) run(ctx context.Context) *outcomes {
	o := &outcomes{wins: make([]win, len(l.requests)), took: make(measure.Times, len(l.requests))}
	each := make([]outcomes, l.connections)
	var next atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := range each {
		all.Go(func() {
			one := &each[i]
			c := connection{addr: l.addr}
			defer c.close()
			for n := int(next.Add(1)) - 1; n < len(l.requests) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				sent := time.Now()
				answer, err := c.ask(ctx, l.requests[n])
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
	case bytes.Contains(answer, saysQueued):
		o.won, o.bytes = o.won+1, len(answer)
		o.queued++
		return true
	case bytes.Contains(answer, saysUnpaid), bytes.HasPrefix(answer, saysMe):
		o.won, o.bytes = o.won+1, len(answer)
		return true
	case bytes.Contains(answer, saysSoldOut):
		o.refused++
	default:
		if bytes.Contains(answer, saysSignedOut) {
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

// rate is the wins of a second.
func (o *outcomes) rate() float64 { return float64(o.won) / o.all.Seconds() }

// odd says what else there was than wins, "" for nothing.
func (o *outcomes) odd() string {
	if o.refused+o.other+o.failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d refused, %d other answers (%.200s), %d without an answer (%v)", o.refused, o.other, o.example, o.failed, o.broken)
}

// answerPatience bounds one request; a server that hangs must not hang the load.
const answerPatience = 20 * time.Second

// A connection is one of a load; it is made when it is needed.
type connection struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is under way
		c.conn = nil
	}
}

// ask sends a request and returns the body of its answer, good until the next one.
func (c *connection) ask(ctx context.Context, request []byte) (body []byte, err error) {
	if c.conn == nil {
		if c.conn, err = (&net.Dialer{Timeout: answerPatience}).DialContext(ctx, "tcp", c.addr); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		c.in = bufio.NewReader(c.conn)
	}
	if err = c.conn.SetDeadline(time.Now().Add(answerPatience)); err == nil {
		if _, err = c.conn.Write(request); err == nil {
			err = c.read()
		}
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("ask: %w", err)
	}
	return c.body, nil
}

var (
	contentLength = []byte("Content-Length: ")
	closing       = []byte("Connection: close")
	errNoLength   = errors.New("an answer without Content-Length")
)

// read reads one answer of a known length, as all of ours are.
func (c *connection) read() error {
	length, last := -1, false
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if text, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return err
			}
		}
		last = last || bytes.Equal(line, closing)
	}
	if length < 0 {
		return errNoLength
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.in, c.body)
	if last {
		c.close()
	}
	return err
}
