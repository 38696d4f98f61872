package cdc

import (
	"context"
	_ "embed" // the statement
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	firstLook    = time.Millisecond // whether what was committed can be seen
	checkTimeout = 50 * time.Millisecond

	// snapshotLife bounds the use of a snapshot, because the log has ids of 32 bits: one
	// that is 2^31 transactions old would show what has just begun.
	snapshotLife = time.Minute
)

//go:embed sql/snapshot.sql
var snapshotSQL string

// A snapshot tells which transactions all statements see that begin after it was taken. An
// id is what the log has of it, the lower 32 bits. The zero value shows nothing.
type snapshot struct {
	taken   time.Time
	next    uint32   // it and all after it have not begun
	running []uint32 // before next, and not ended
}

// parseSnapshot reads the text of a pg_snapshot, "xmin:xmax:xip,xip".
func parseSnapshot(text string, taken time.Time) (snapshot, error) {
	s := snapshot{taken: taken}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return snapshot{}, fmt.Errorf("invalid snapshot %q", text)
	}
	next, err := parseID(parts[1])
	if err != nil {
		return snapshot{}, err
	}
	s.next = next
	for id := range strings.SplitSeq(parts[2], ",") {
		if id == "" {
			continue // there is none
		}
		n, err := parseID(id)
		if err != nil {
			return snapshot{}, err
		}
		s.running = append(s.running, n)
	}
	return s, nil
}

// parseID reads an id of 64 bits and returns the lower 32.
func parseID(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid id of a transaction: %w", err)
	}
	return uint32(n), nil
}

// shows reports whether a transaction that committed is visible. Ids go round, so an id is
// before another if it is less than 2^31 behind.
func (s *snapshot) shows(id uint32, now time.Time) bool {
	return now.Sub(s.taken) < snapshotLife && id-s.next >= 1<<31 && !slices.Contains(s.running, id)
}

// awaitVisible waits until statements see what a transaction did. The log has a commit
// before that: the server first writes it down, then waits for the standbys that it must
// wait for, then lets others see it. Who hears of a change reads the row, or lets the next
// reader do so, and must not find it as it was.
//
// It asks the server only if the snapshot of an earlier question does not show the
// transaction, so one question is enough for all that had committed by then.
func (s *stream) awaitVisible(ctx context.Context, id uint32) error {
	for pause := firstLook; !s.seen.shows(id, time.Now()); pause = min(2*pause, checkTimeout) {
		now, err := s.r.snapshot(ctx)
		if err != nil {
			return err
		}
		s.seen = now
		if now.shows(id, now.taken) {
			return nil
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return fmt.Errorf("stopped before a change could be seen: %w", err)
		}
	}
	return nil
}

// snapshot asks the server for the snapshot of a statement that begins now.
func (r *Reader) snapshot(ctx context.Context) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var text string
	begun := time.Now()
	if err := r.db.QueryRowContext(ctx, snapshotSQL).Scan(&text); err != nil {
		return snapshot{}, fmt.Errorf("look whether a change can be seen: %w", err)
	}
	return parseSnapshot(text, begun)
}
