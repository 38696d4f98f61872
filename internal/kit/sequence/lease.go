package sequence

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql/*.sql
var files embed.FS

func leaseStatement(dialect string) (string, error) {
	var text string
	err := sqldb.ReadStatements(files, dialect, map[string]*string{"lease": &text})
	return text, err
}

const (
	minSize = 1 << 10
	maxSize = 1 << 16     // a thousandth of a cycle
	busy    = time.Second // a shorter lease interval doubles the size of the next segment
	quiet   = time.Minute // a longer one halves it

	leaseTimeout = 5 * time.Second

	// segmentLife limits the use of a segment, and so of numbers without the database. It also
	// limits how far numbers are ahead of the clock after the end of a cycle.
	segmentLife = 5 * 60 // seconds
)

// A segment is a lease: positions that no other process has, and the range of seconds for
// them. The zero segment is empty.
type segment struct {
	next, end      int64 // positions
	size           int64
	floor, ceiling int64 // seconds since epoch
	permuted       *permutation
}

func (s *segment) usable(second int64) bool { return s.next < s.end && second <= s.ceiling }

// low reports whether at most a fifth of the positions or of the time is left.
func (s *segment) low(second int64) bool {
	return (s.end-s.next)*5 <= s.size || second > s.ceiling-segmentLife/5
}

// leasedRow holds the results of the lease statement.
type leasedRow struct{ next, ceiling, key int64 }

func (s *Sequence) lease(ctx context.Context, size int64) (segment, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	found, err := s.leaseRow(ctx, size)
	if err != nil {
		return segment{}, err
	}
	got := segment{size: size, next: (found.next - size) % positions, floor: max((found.next-size)/positions, 1)}
	got.end, got.ceiling = got.next+size, min(found.ceiling-epoch, maxSecond)
	if got.floor > maxSecond {
		return segment{}, fmt.Errorf("numbers up to year %d are already used", time.Unix(found.ceiling, 0).UTC().Year())
	}
	if s.permuted == nil || s.secret != found.key {
		s.secret, s.permuted = found.key, newPermutation(found.key, positionBits)
	}
	got.permuted = s.permuted
	return got, nil
}

func (s *Sequence) leaseRow(ctx context.Context, size int64) (found leasedRow, err error) {
	second := s.second()
	if second+segmentLife > maxSecond {
		return found, fmt.Errorf("clock is at %v, beyond the range of sequence numbers", s.o.Now())
	}
	secret := make([]byte, 8)
	_, _ = rand.Read(secret) // never fails
	row := s.db.QueryRowContext(ctx, s.statement,
		s.o.Name, size, max(second, 1)+segmentLife+epoch, int64(binary.BigEndian.Uint64(secret)), epoch)
	return found, row.Scan(&found.next, &found.ceiling, &found.key)
}

// nextSize returns a size that lasts for a second to a minute. The rest of a segment is wasted
// when the process ends or its time is over.
func nextSize(size int64, age time.Duration) int64 {
	switch {
	case size == 0:
		return minSize
	case age < busy:
		return min(size*2, maxSize)
	case age > quiet:
		return max(size/2, minSize)
	}
	return size
}
