package livebench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Mark begins the title of every item. Its number and the time of publication follow, in
// nanoseconds since 1970, separated by a space.
const Mark = `"bench `

// Document is the document of a subscriber.
const Document = `subscription Feed { feedUpdates { __typename ... on FeedNoteAdded { cursor note { id title content createdAt images { url } author { id nickname avatarUrl } shop { id name } } } ... on FeedNoteRemoved { cursor noteId } ... on FeedReady { cursor } ... on FeedResync { cursor } } }`

// Publishing configures the publication of items. Several may be in progress at a time; then they
// arrive in any order.
type Publishing struct {
	First    int64         // number of the first one
	InFlight int           // maximum of items in flight; 0 means that Every alone sets the pace
	Every    time.Duration // between two items, where InFlight is 0
	For      time.Duration
	Content  int    // approximate bytes of the text; at most 6000
	Received string // unix socket that sends, in 8 bytes each time, the number below which all subscribers have all items
}

// publishers limits the items that are being published.
const publishers = 64

// patience limits the time until an item reaches all subscribers.
const patience = 20 * time.Second

// run publishes until the time is over, and returns the next item number. The last items may still
// be on their way.
func (p Publishing) run(ctx context.Context, publish func(ctx context.Context, title, content string) error) (next int64, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", p.Received)
	if err != nil {
		return 0, fmt.Errorf("listen to the subscribers: %w", err)
	}
	defer func() { _ = conn.Close() }()
	content := strings.Repeat("茶", max(p.Content/len("茶"), 1))
	begin := time.Now()
	received := p.First
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(publishers)
	defer func() { err = errors.Join(err, group.Wait()) }()
	for n := p.First; ; n++ {
		if p.InFlight > 0 {
			received, err = await(conn, received, n-int64(p.InFlight)+1)
		} else {
			err = clock.Sleep(ctx, time.Until(begin.Add(time.Duration(n-p.First)*p.Every)))
		}
		if err != nil {
			return n, fmt.Errorf("wait for item %d: %w", n, err)
		}
		now := time.Now()
		if now.Sub(begin) >= p.For {
			return n, nil
		}
		group.Go(func() error {
			if err := publish(ctx, Title(n, now), content); err != nil {
				return fmt.Errorf("publish item %d: %w", n, err)
			}
			return nil
		})
	}
}

// Title returns the title of an item.
func Title(n int64, at time.Time) string { return fmt.Sprintf("%s%d %d", Mark[1:], n, at.UnixNano()) }

// await reads until all items below a number are received.
func await(conn net.Conn, received, wanted int64) (int64, error) {
	for received < wanted {
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return received, err
		}
		var b [8]byte
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return received, errors.Join(fmt.Errorf("received items up to %d, want %d", received, wanted), err)
		}
		received = int64(binary.LittleEndian.Uint64(b[:]))
	}
	return received, nil
}
