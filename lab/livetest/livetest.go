// Package livetest injects faults into servers while clients follow their live feeds. Then it
// checks with the database that each client received every due note once and in order, over all
// its connections.
//
// It knows the servers only as programs and by their API, and decides independently which notes
// are due. Package faulttest runs the processes.
package livetest

import (
	"cmp"
	"io"
	"time"
)

// Config configures a run. Duration is required; the zero value of every other field is a
// good default.
type Config struct {
	Seed     uint64        // of the faults, the accounts and all choices
	Duration time.Duration // of the faults; checks follow
	// Reconnects and RedisRestarts are minimums; faults continue until both are reached.
	Reconnects, RedisRestarts int
	// Deck lists fault names by card. It is repeated, and each card is played at least once.
	// nil draws a deck from the seed.
	Deck [][]string

	Authors int           // default 100
	Clients int           // one per user; default 120
	Follows int           // per user at the start; default 40, at most Authors
	Writers int           // concurrent writers through the API; default 10
	Rate    float64       // notes per second of all writers; default 40
	Life    time.Duration // mean life of a connection, ±50 % per client; default 500 ms
	// Leeway is how long an unfollow may take to have an effect; default 2 s.
	Leeway time.Duration
	// RecoverWithin is how soon every client must receive a note that is published when Redis
	// is back; default 2 s.
	RecoverWithin time.Duration

	Binary string    // path of the server's program; "" builds it
	Keep   string    // directory for the servers' logs of a broken run; "" keeps none
	Out    io.Writer // nil discards the output
}

func (c Config) withDefaults() Config {
	c.Authors = cmp.Or(c.Authors, 100)
	c.Clients = cmp.Or(c.Clients, 120)
	c.Follows = min(cmp.Or(c.Follows, 40), c.Authors)
	c.Writers = cmp.Or(c.Writers, 10)
	c.Rate = cmp.Or(c.Rate, 40)
	c.Life = cmp.Or(c.Life, 500*time.Millisecond)
	c.Leeway = cmp.Or(c.Leeway, 2*time.Second)
	c.RecoverWithin = cmp.Or(c.RecoverWithin, 2*time.Second)
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c
}
