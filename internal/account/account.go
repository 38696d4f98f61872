// Package account implements users, login by code or password, sessions, roles
// and profiles.
//
// The database is the source of truth. Users are read through a row cache.
// Each request reads its session from Redis, or from its row if Redis lost it.
// Login codes and rate limits are in Redis only: without Redis, no login is
// possible, but existing sessions continue.
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

// A Role is a set of permissions. Each role includes the roles before it.
type Role string

// The roles.
const (
	Customer Role = "CUSTOMER"
	Merchant Role = "MERCHANT" // owns shops and sells vouchers
	Admin    Role = "ADMIN"
)

// Roles returns all roles in ascending order.
func Roles() []Role { return []Role{Customer, Merchant, Admin} }

// Includes reports whether r has all permissions of other. An unknown role
// includes nothing.
func (r Role) Includes(other Role) bool { return r.rank() >= other.rank() && other.rank() > 0 }

func (r Role) rank() int {
	for i, role := range Roles() {
		if r == role {
			return i + 1
		}
	}
	return 0
}

// A Gender is the gender in a user's profile.
type Gender string

// The genders.
const (
	Unspecified Gender = "UNSPECIFIED"
	Male        Gender = "MALE"
	Female      Gender = "FEMALE"
)

// A User is a public profile. Only the user may see the phone.
type User struct {
	ID        int64       `json:"id"`
	Nickname  string      `json:"nickname"`
	AvatarURL *string     `json:"avatar_url,omitempty"`
	Phone     *string     `json:"phone,omitempty"` // masked
	Role      Role        `json:"role"`
	City      *string     `json:"city,omitempty"`
	Bio       *string     `json:"bio,omitempty"`
	Gender    Gender      `json:"gender"`
	Birthday  *civil.Date `json:"birthday,omitempty"`
	Points    int         `json:"points,omitempty"` // see [Level]
	CreatedAt time.Time   `json:"created_at"`       // zero if an older release cached it
	Counts
	Version int64 `json:"version"` // increases with every update
}

// A Page is one page of a list of users.
type Page struct {
	Edges []*Edge
	Info  page.Info
}

// An Edge is a user in a list, with its cursor.
type Edge struct {
	Cursor page.Cursor
	Node   *User
}

// Counts holds the follower, followee and note counters of a user.
type Counts struct {
	FollowerCount int `json:"followers,omitempty"`
	FolloweeCount int `json:"followees,omitempty"`
	NoteCount     int `json:"notes,omitempty"` // without deleted notes
}

// Error codes of this package.
const (
	InvalidPhone       apierror.Code = "INVALID_PHONE"
	InvalidCode        apierror.Code = "INVALID_CODE"
	InvalidCredentials apierror.Code = "INVALID_CREDENTIALS"
	CodeThrottled      apierror.Code = "CODE_THROTTLED"
)

// Pictures checks the pictures of profiles and records their use.
type Pictures interface {
	// Sizes returns the sizes, by path, of the pictures that the editor may use.
	Sizes(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error)
	// SetUsed records in tx the pictures of users, by user id. It returns an
	// [apierror.UserErrors] if the editor may not use one of them.
	SetUsed(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Usage) error
}

// Config holds the dependencies and limits of a Service. Redis, Pictures,
// Registerer and Log are required.
type Config struct {
	Redis             redis.Cmdable
	Prefix            string // prefix of the Redis keys
	Pictures          Pictures
	Sender            Sender   // sends login codes; nil disables them
	CodeCountries     []string // calling codes, such as 86, that may get login codes; empty allows all
	CodesPerHour      int      // login codes per hour in all processes; 0 is unlimited
	DemoPhones        bool     // send codes to the reserved numbers of demo accounts
	CodesPerAddress   int      // login codes per hour and client address; 0 is unlimited
	LoginsPerAddress  int      // login attempts per hour and client address; 0 is unlimited
	WrongCodesPerHour int      // wrong login codes per hour in all processes; 0 is unlimited
	PasswordsAtOnce   int      // concurrent password hashes, 19 MiB each; default one per processor
	PasswordsInQueue  int      // queue for a password hash; default 64
	SessionRowsAtOnce int      // concurrent reads of session rows, after a loss in Redis; default 8

	// OnSessionsEnded is called with the ids of ended sessions (see [Viewer.Session]), after
	// the commit and after this process has dropped them. An error makes the outbox
	// retry the call. It may be nil.
	OnSessionsEnded func(ctx context.Context, sessions ...string) error

	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Service implements accounts. It is safe for concurrent use.
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
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	names, rates, failed := keys{cfg.Prefix}, newLimits(cfg.Redis), newFailures(cfg.Registerer, cfg.Log)
	known := &devices{db: db, failures: failed, now: time.Now}
	s := &Service{
		db: db, devices: known, sql: openStatements(db.Dialect()), hub: hub, outbox: box, cfg: cfg, now: time.Now, failures: failed, keys: names, limits: rates,
		sessions:  newSessions(db, hub, box, sessionConfig{Config: cfg, keys: names, devices: known, failures: failed}),
		codes:     newCodes(cfg.Redis, names, rates, cfg),
		passwords: newHasher(orDefault(cfg.PasswordsAtOnce, runtime.GOMAXPROCS(0)), orDefault(cfg.PasswordsInQueue, 64)),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_logins_total", Help: "Login attempts and rejected setPassword proofs, by method and outcome.",
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

// Jobs returns the scheduled jobs. account.sessions deletes the rows of ended and
// expired sessions, and of devices without a recent login.
func (s *Service) Jobs() []schedule.Job {
	return []schedule.Job{{Name: "account.sessions", Every: purgeEvery, Timeout: workTimeout, Do: s.purge}}
}

func (s *Service) purge(ctx context.Context) error {
	return errors.Join(s.sessions.purge(ctx), s.devices.purge(ctx))
}

// ByID returns one user, or [apierror.ErrNotFound]. It sees all writes that
// returned in this process, and those of other processes after one second at most.
// If Redis is unavailable, it reads the row. Any other error is a database error.
func (s *Service) ByID(ctx context.Context, id int64) (*User, error) {
	ctx, span := observe.Span(ctx, "account.ByID")
	defer span.End()
	u, err := s.users.Ref(ctx, id)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, apierror.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read user %d: %w", id, err)
	}
	return u, nil
}

// ByIDs returns the existing users among ids, as fresh as [Service.ByID]. It costs
// one cache round trip and at most one statement.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*User, error) {
	ctx, span := observe.Span(ctx, "account.ByIDs")
	defer span.End()
	found, err := s.users.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d users: %w", len(ids), err)
	}
	return found, nil
}
