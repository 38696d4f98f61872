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
	err := sqldb.Read(files, dialect, map[string]*string{"lease": &text})
	return text, err
}

const (
	minSize = 1 << 10
	maxSize = 1 << 16 // a thousandth of a cycle
	busy    = time.Second
	quiet   = time.Minute

	leaseTimeout = 5 * time.Second

	// lasts is how long a segment may be used: as long as the numbers in hand carry
	// on without the database, and as far as numbers are ahead of the clock, at
	// most, after a cycle has ended.
	lasts = 5 * 60 // seconds
)

// A segment is leased: positions that nobody else has, and the seconds that may
// stand beside them. The zero segment is empty.
type segment struct {
	next, end      int64 // positions
	size           int64
	floor, ceiling int64 // seconds as numbers count them
	permuted       *permutation
}

func (s *segment) usable(second int64) bool { return s.next < s.end && second <= s.ceiling }

// low says that it is time to lease the next one: a fifth is left, of the numbers
// or of the time.
func (s *segment) low(second int64) bool {
	return (s.end-s.next)*5 <= s.size || second > s.ceiling-lasts/5
}

// A leased is what the row said of a lease.
type leased struct{ next, ceiling, key int64 }

// lease takes a segment from the row.
func (s *Sequence) lease(ctx context.Context, size int64) (segment, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	is, err := s.ask(ctx, size)
	if err != nil {
		return segment{}, err
	}
	got := segment{size: size, next: (is.next - size) % positions, floor: max((is.next-size)/positions, 1)}
	got.end, got.ceiling = got.next+size, min(is.ceiling-epoch, maxSecond)
	if got.floor > maxSecond {
		return segment{}, fmt.Errorf("the row says that numbers of the year %d are used up", time.Unix(is.ceiling, 0).UTC().Year())
	}
	if s.permuted == nil || s.secret != is.key {
		s.secret, s.permuted = is.key, newPermutation(is.key, positionBits)
	}
	got.permuted = s.permuted
	return got, nil
}

// ask has the row give positions away.
func (s *Sequence) ask(ctx context.Context, size int64) (is leased, err error) {
	second := s.second()
	if second+lasts > maxSecond {
		return is, fmt.Errorf("the clock shows %v, after the last second that a number can have", s.o.Now())
	}
	secret := make([]byte, 8)
	_, _ = rand.Read(secret) // never fails
	row := s.db.QueryRowContext(ctx, s.statement,
		s.o.Name, size, max(second, 1)+lasts+epoch, int64(binary.BigEndian.Uint64(secret)), epoch)
	return is, row.Scan(&is.next, &is.ceiling, &is.key)
}

// nextSize has a segment last for a second at least, and not for minutes: what a
// process leaves when it ends, or when its time is over, is lost.
func nextSize(size int64, lasted time.Duration) int64 {
	switch {
	case size == 0:
		return minSize
	case lasted < busy:
		return min(size*2, maxSize)
	case lasted > quiet:
		return max(size/2, minSize)
	}
	return size
}
