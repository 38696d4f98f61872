// Package livetest harms whole servers while clients follow their live feeds, and then
// proves from the database that each client was told every note that was due to it, once
// and in order, over all its connections.
//
// It knows the servers only as programs and by their API, and says anew what is due. The
// world of processes is that of faulttest.
package livetest

import (
	"cmp"
	"io"
	"time"
)

// Config says what is run. Duration is needed; the zero value of everything else is good.
type Config struct {
	Seed     uint64        // of the faults, of the people and of what all of them do
	Duration time.Duration // of the harm; checks come after it
	// The harm goes on until there were so many of both, if they are not 0.
	Reconnects, RedisRestarts int
	Deck                      [][]string // names of faults, those of one card together; played again and again, and each once at least; nil is a deck of the seed

	Authors int           // default 100
	Clients int           // one of each user; default 120
	Follows int           // of each user at the beginning; default 40, Authors at most
	Writers int           // who publish through the API; default 10
	Rate    float64       // notes a second of all of them; default 40
	Life    time.Duration // mean of a connection; default 500 ms, by client from half of it to half more
	// Leeway is how long an unfollow may take to be heard of; default 2 s.
	Leeway time.Duration
	// WholeWithin is how soon every client has been told a note that is published when
	// a Redis has come back; default 2 s.
	WholeWithin time.Duration

	Binary string    // the server's program; "" builds it
	Keep   string    // directory for the servers' logs of a run that broke something; "" keeps nothing
	Out    io.Writer // nil is nowhere
}

func (c Config) withDefaults() Config {
	c.Authors = cmp.Or(c.Authors, 100)
	c.Clients = cmp.Or(c.Clients, 120)
	c.Follows = min(cmp.Or(c.Follows, 40), c.Authors)
	c.Writers = cmp.Or(c.Writers, 10)
	c.Rate = cmp.Or(c.Rate, 40)
	c.Life = cmp.Or(c.Life, 500*time.Millisecond)
	c.Leeway = cmp.Or(c.Leeway, 2*time.Second)
	c.WholeWithin = cmp.Or(c.WholeWithin, 2*time.Second)
	if c.Out == nil {
		c.Out = io.Discard
	}
	return c
}
