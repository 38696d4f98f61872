package live

import "time"

// A crowdQuestion requests figures or an action of the process that holds all sockets.
type crowdQuestion struct {
	Connect    *connecting
	Reset      bool  // forget what was measured
	Await      int64 // until all have all items below
	Disconnect bool
}

// connecting adds subscribers.
type connecting struct {
	Addr     string
	Protocol protocol
	Number   int
	Tokens   []string // one for each, or none
	First    int64    // the number of the item that comes next
	Stalled  bool     // they subscribe and then never read
}

// A crowdAnswer holds the figures since the last Reset.
type crowdAnswer struct {
	Received    string // the unix socket that livebench.Publishing wants
	Items       int64
	Missed      int64     // of those that others have
	Repeated    int64     // or out of order
	Since, Last time.Time // from when the first item was published until the last one came
	P50, P99    time.Duration
	CPU         time.Duration // of this process, so far
	Ports       []int         // of the stalled sockets
	Err         string        // why one of them has no connection any more, or never had one
}
