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
	firstCheck    = time.Millisecond // pause after the first visibility check
	maxCheckPause = 50 * time.Millisecond

	// snapshotLife limits the use of a snapshot, because ids in the log have 32 bits. A
	// snapshot that is 2^31 transactions old would show transactions that have just
	// begun.
	snapshotLife = time.Minute
)

//go:embed sql/snapshot.sql
var snapshotSQL string

// A snapshot lists the transactions that later statements see. An id is the lower 32 bits
// of a transaction id, as in the log. The zero value shows no transaction.
type snapshot struct {
	taken   time.Time
	next    uint32   // it and later ones have not begun
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
			continue // no running transaction
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
		return 0, fmt.Errorf("invalid transaction id: %w", err)
	}
	return uint32(n), nil
}

// shows reports whether a committed transaction is visible. Ids wrap around, so an id is
// before another if it is less than 2^31 behind.
func (s *snapshot) shows(id uint32, now time.Time) bool {
	return now.Sub(s.taken) < snapshotLife && id-s.next >= 1<<31 && !slices.Contains(s.running, id)
}

// awaitVisible waits until statements see the changes of a transaction. A commit is in
// the log before that: the server writes it, waits for synchronous standbys, and then
// makes it visible. A handler may read the row at once, and must not get the old version.
//
// awaitVisible queries the server only if the latest snapshot does not show the
// transaction. So one query is enough for all earlier commits.
func (s *stream) awaitVisible(ctx context.Context, id uint32) error {
	for pause := firstCheck; !s.snapshot.shows(id, time.Now()); pause = min(2*pause, maxCheckPause) {
		now, err := s.r.snapshot(ctx)
		if err != nil {
			return err
		}
		s.snapshot = now
		if now.shows(id, now.taken) {
			return nil
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for visibility of a change: %w", err)
		}
	}
	return nil
}

// snapshot returns the snapshot of a statement that begins now.
func (r *Reader) snapshot(ctx context.Context) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var text string
	begun := time.Now()
	if err := r.db.QueryRowContext(ctx, snapshotSQL).Scan(&text); err != nil {
		return snapshot{}, fmt.Errorf("read snapshot: %w", err)
	}
	return parseSnapshot(text, begun)
}
