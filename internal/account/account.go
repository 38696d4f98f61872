// Package account is the room of people: how they come in (codes sent to their
// phones, passwords), how they are known from one request to the next
// (sessions), what they may do (roles), and what others see of them.
//
// The rows of the database are the truth. Users are read through a cache of
// rows; sessions are in Redis for every request and are read back from their
// rows when Redis lost them. Codes and the limits on guessing are in Redis
// alone: without it nobody can log in, and nobody is logged out.
package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

// A Role is what somebody may do. Each includes those before it.
type Role string

// The roles.
const (
	Customer Role = "CUSTOMER"
	Merchant Role = "MERCHANT" // owns shops and sells vouchers
	Admin    Role = "ADMIN"
)

// Roles are all roles, each after those that it includes.
func Roles() []Role { return []Role{Customer, Merchant, Admin} }

// Includes reports whether who has this role has the other one too.
func (r Role) Includes(other Role) bool { return r.rank() >= other.rank() && other.rank() > 0 }

// rank is 0 for what is no role.
func (r Role) rank() int {
	for i, role := range Roles() {
		if r == role {
			return i + 1
		}
	}
	return 0
}

// A Gender is what a user says of it.
type Gender string

// The genders.
const (
	Unspecified Gender = "UNSPECIFIED"
	Male        Gender = "MALE"
	Female      Gender = "FEMALE"
)

// A User is a person with an account, as others see it; but the phone is for
// the user alone.
type User struct {
	ID        int64       `json:"id"`
	Nickname  string      `json:"nickname"`
	AvatarURL *string     `json:"avatar_url,omitempty"`
	Phone     *string     `json:"phone,omitempty"` // masked; the number itself stays in the row
	Role      Role        `json:"role"`
	City      *string     `json:"city,omitempty"`
	Bio       *string     `json:"bio,omitempty"`
	Gender    Gender      `json:"gender"`
	Birthday  *civil.Date `json:"birthday,omitempty"`
	Points    int         `json:"points,omitempty"` // see Level
	CreatedAt time.Time   `json:"created_at"`       // zero if an older release cached it
	Counts
	Version int64 `json:"version"` // raised by every update
}

// A Page is a part of a list of users.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// An Edge is a user's place in a list.
type Edge struct {
	Cursor page.Cursor
	Node   *User
}

// Counts are what of a user is counted.
type Counts struct {
	FollowerCount int `json:"followers,omitempty"`
	FolloweeCount int `json:"followees,omitempty"`
	NoteCount     int `json:"notes,omitempty"` // those that are not deleted
}

// Codes of the refusals of this room.
const (
	InvalidPhone       apierror.Code = "INVALID_PHONE"
	InvalidCode        apierror.Code = "INVALID_CODE"
	InvalidCredentials apierror.Code = "INVALID_CREDENTIALS"
	CodeThrottled      apierror.Code = "CODE_THROTTLED"
)

// Pictures are those that users show.
type Pictures interface {
	// Known returns the sizes of the pictures that the editor may show, by path.
	Known(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error)
	// Show records in tx which pictures users show, by id of the user. It returns a
	// [fault.UserErrors] if the editor may not show one of them.
	Show(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Shown) error
}

// Config holds the dependencies and limits of a Service. Redis, Pictures, Registerer and
// Log are required. The zero value of the rest sends no codes and sets no limits by address.
type Config struct {
	Redis             redis.Cmdable
	Prefix            string // of the Redis keys
	Pictures          Pictures
	Sender            Sender   // of login codes; nil for none
	CodeCountries     []string // calling codes, such as 86, of the phones that may get login codes; all if empty
	CodesPerHour      int      // login codes an hour of all processes; 0 for any number
	DemoPhones        bool     // whether the numbers of demo accounts, which no phone has, get login codes
	CodesPerAddress   int      // login codes an hour for one client address; 0 for any number
	LoginsPerAddress  int      // tries to log in an hour from one client address; 0 for any number
	WrongCodesPerHour int      // wrong login codes an hour of all processes; 0 for any number
	PasswordsAtOnce   int      // passwords that are hashed at once, 19 MiB each; default one for each processor
	PasswordsInQueue  int      // passwords that wait for that; default 64
	SessionRowsAtOnce int      // sessions read from their rows at once, when Redis lost them; default 8

	// Ended hears of sessions that ended, by [Viewer.Session], after the commit and after
	// this process has forgotten them. With an error it is called again. It may be nil.
	Ended func(ctx context.Context, sessions ...string) error

	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Service answers for accounts. It is safe for concurrent use.
type Service struct {
	db        *ent.Client
	sql       statements
	hub       *cache.Client
	outbox    *outbox.Box
	cfg       Config
	users     *cache.Cache[int64, User]
	sessions  *sessions
	devices   *devices
	codes     *codes
	keys      keys
	limits    *limits
	passwords *hasher
	now       func() time.Time
	logins    *prometheus.CounterVec
	failures  *observe.FailureLog
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
// [Service.Run] does the background work.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	names, rates, failed := keys{cfg.Prefix}, newLimits(cfg.Redis), newFailures(cfg.Registerer, cfg.Log)
	known := &devices{db: db, failures: failed, now: time.Now}
	s := &Service{
		db: db, devices: known, sql: openStatements(db.Dialect()), hub: hub, outbox: box, cfg: cfg, now: time.Now, failures: failed, keys: names, limits: rates,
		sessions:  newSessions(db, hub, box, sessionConfig{Config: cfg, keys: names, devices: known, failures: failed}),
		codes:     newCodes(cfg.Redis, names, rates, cfg),
		passwords: newHasher(orDefault(cfg.PasswordsAtOnce, runtime.GOMAXPROCS(0)), orDefault(cfg.PasswordsInQueue, 64)),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_logins_total", Help: "Attempts to log in, and refused proofs of setPassword, by method and outcome. An invalid phone or code is compared with nothing.",
		}, []string{"method", "outcome"}),
	}
	s.openCaches(hub)
	s.openOutbox()
	cfg.Registerer.MustRegister(s.logins, s.codes.sent, s.codes.delivered, s.codes.refused, s.codes.guessesRefused)
	for _, method := range []string{"code", "password"} {
		for _, outcome := range []string{"ok", "wrong", "invalid", "dead", "throttled", "failed"} {
			s.logins.WithLabelValues(method, outcome)
		}
	}
	return s
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// Jobs are the scheduled jobs. account.sessions deletes the rows of sessions that ended
// or expired, and of devices without a recent login.
func (s *Service) Jobs() []schedule.Job {
	return []schedule.Job{{Name: "account.sessions", Every: purgeEvery, Timeout: workTimeout, Do: s.purge}}
}

func (s *Service) purge(ctx context.Context) error {
	return errors.Join(s.sessions.purge(ctx), s.devices.purge(ctx))
}

// ByID returns one user, or [fault.ErrNotFound]. It sees every write whose call
// returned in this process, those of other processes within moments, a second at
// most. When Redis is down it reads the row, so any other error
// means that the database failed.
func (s *Service) ByID(ctx context.Context, id int64) (*User, error) {
	ctx, span := observe.Span(ctx, "account.ByID")
	defer span.End()
	u, err := s.users.Ref(ctx, id)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, apierror.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read a user: %w", err)
	}
	return u, nil
}

// ByIDs returns those of the users that exist, as [Service.ByID] would, with
// one round trip to the cache and at most one statement.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*User, error) {
	ctx, span := observe.Span(ctx, "account.ByIDs")
	defer span.End()
	found, err := s.users.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d users: %w", len(ids), err)
	}
	return found, nil
}
