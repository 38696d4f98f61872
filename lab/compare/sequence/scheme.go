// Package sequence compares Tandian's order numbers with commonly taught schemes, in one table. It
// shows the cost of a number, and whether numbers repeat after Redis loses recent writes or a clock
// steps back. It also shows whether numbers are in the order of time, and whether two numbers reveal
// how many were made between them.
//
// All columns are measured. Only the code that derives a volume from two ids is specific to a scheme:
// it assumes knowledge of its layout.
package sequence

import (
	"context"
	"database/sql"
	"time"

	"github.com/redis/go-redis/v9"
)

// An ID has 16 bytes, or 8, which are in Low.
type ID struct{ High, Low uint64 }

func (a ID) less(b ID) bool { return a.High < b.High || a.High == b.High && a.Low < b.Low }

// A Maker makes ids in one process.
type Maker interface {
	// Next makes an id. It is safe for concurrent use.
	Next(ctx context.Context) (ID, error)
}

// A Process holds the dependencies of a Maker.
type Process struct {
	Redis *redis.Client
	DB    *sql.DB          // nil if there is none
	Name  string           // of the sequence: a unique key, row or name in the database
	Node  uint64           // of the process, among those of one Name
	Now   func() time.Time // its clock
}

// A Scheme is a way to make ids.
type Scheme struct {
	Name  string
	Bytes int
	SQL   bool // needs a database
	New   func(ctx context.Context, p Process) (Maker, error)

	// Read returns the number of ids between a and b, for a reader who knows the layout but no
	// secret. It is nil if ids reveal nothing.
	Read func(a, b ID) int64
}

// ours names Tandian's scheme.
const ours = "segments, permuted (Tandian)"

// Schemes returns all schemes.
func Schemes() []Scheme {
	return []Scheme{
		{Name: ours, Bytes: 8, SQL: true, New: newSegments, Read: func(a, b ID) int64 {
			return int64((b.Low>>6 - a.Low>>6) % (1 << 26))
		}},
		{Name: "UUIDv4", Bytes: 16, New: newUUID4},
		{Name: "UUIDv7", Bytes: 16, New: newUUID7},
		{Name: "Redis INCR per day, after seconds", Bytes: 8, New: newRedisSeconds, Read: func(a, b ID) int64 {
			return int64(b.Low&(1<<32-1)) - int64(a.Low&(1<<32-1))
		}},
		{Name: "Redis INCR per day, after the date", Bytes: 8, New: newRedisDate, Read: lowDifference},
		{Name: "snowflake", Bytes: 8, New: newSnowflake, Read: func(a, b ID) int64 {
			return int64(b.Low%4096) - int64(a.Low%4096)
		}},
		{Name: "nextval for each", Bytes: 8, SQL: true, New: newNextval, Read: lowDifference},
	}
}

func lowDifference(a, b ID) int64 { return int64(b.Low - a.Low) }
