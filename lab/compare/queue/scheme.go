// Package queue compares Tandian's queue between processes with other queues, in two tables.
// One shows the cost of a message, in time and while it waits. The other shows lost and repeated
// messages when a consumer or Redis is killed, when there is no consumer or a slow one, and when
// there are two.
//
// Messages are numbered. A message is handled when a trial has recorded its number; a sent message
// without a record at the end is lost. Consumers are processes of their own. A trial kills
// them between two chosen steps, so that losses do not depend on timing.
package queue

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Message is a message that was read.
type Message struct {
	Number int
	entry  string // how its queue calls it
}

// A Sender puts messages into a queue. It is for one goroutine.
type Sender interface {
	// Send sends messages, all at once, and returns when they are in the queue.
	Send(ctx context.Context, numbers []int) error
	Close() error
}

// A Reader is one consumer. It is for one goroutine.
type Reader interface {
	// Read takes messages, as many as the scheme takes at a time, and at most most. If there is
	// none, it waits at most wait for one.
	Read(ctx context.Context, most int, wait time.Duration) ([]Message, error)
	// Done acknowledges handled messages.
	Done(ctx context.Context, messages []Message) error
	Close() error
}

// A Process holds the dependencies of a Sender and a Reader.
type Process struct {
	Setting
	Redis  *redis.Client
	Memory *Memory // the queues inside the process
}

// A Setting holds the requirements of a trial.
type Setting struct {
	Name     string        // of the queue; unique
	Consumer string        // this one's name among those of the queue
	Bytes    int           // of a message
	Room     int           // messages for which there must be room
	TakeOver time.Duration // after which other consumers may claim a pending message
	Again    bool          // the reader wants what others have handled too, where that can be
}

// A Scheme is a way to queue.
type Scheme struct {
	Name      string
	InProcess bool // sender and consumer are one process
	Waits     bool // its readers block in Redis while there is nothing
	Sender    func(ctx context.Context, p Process) (Sender, error)
	Reader    func(ctx context.Context, p Process) (Reader, error)
}

// ours names Tandian's scheme.
const ours = "Stream group, 500 at a time (Tandian)"

// bound is the minimum length of a bounded stream; Redis trims whole nodes of a hundred entries.
const bound = 100

// Schemes returns all schemes.
func Schemes() []Scheme {
	single := groupOptions{batch: 1}
	bounded := groupOptions{batch: 1, keep: bound}
	tandian := groupOptions{batch: 500, remove: true}
	return []Scheme{
		{Name: ours, Waits: true, Sender: tandian.sender, Reader: tandian.reader},
		{Name: "channel of the process", InProcess: true, Sender: newChannelSender, Reader: newChannelReader},
		{Name: "List, BRPOP", Waits: true, Sender: newListSender, Reader: newPopReader},
		{Name: "List, BLMOVE and put back", Waits: true, Sender: newListSender, Reader: newMoveReader},
		{Name: "pub/sub", Sender: newPublisher, Reader: newSubscriber},
		{Name: "Stream, XREAD $ each time", Waits: true, Sender: single.sender, Reader: newDollarReader},
		{Name: "Stream, XREAD from the last id", Waits: true, Sender: single.sender, Reader: newTailReader},
		{Name: "Stream group, one at a time", Waits: true, Sender: single.sender, Reader: single.reader},
		{Name: "Stream group, MAXLEN ~ 100", Waits: true, Sender: bounded.sender, Reader: bounded.reader},
	}
}
