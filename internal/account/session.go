package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	stdsql "database/sql"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"github.com/tandian-dev/tandian/ent"
	entsession "github.com/tandian-dev/tandian/ent/session"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	sessionLife = 36 * time.Hour   // after the last use
	sessionMax  = 90 * day         // after the beginning
	touchEvery  = time.Minute      // minimum interval between two refreshes in Redis
	rowEvery    = time.Hour        // minimum interval between two refreshes of the row
	endedLife   = time.Minute      // of an end mark; longer than any read of a row
	rowTimeout  = 2 * time.Second  // of a read of a row, with the wait in the queue
	endTimeout  = time.Second      // of the propagation of ended sessions; the outbox does the rest
	rowQueue    = 512              // waiting readers of rows; more are rejected
	purgeEvery  = time.Minute      // interval of the deletion of old rows
	workTimeout = 30 * time.Second // of one purge

	endedRowLife = time.Hour        // of the row of an ended session; longer than its outbox job
	memoryLife   = 30 * time.Second // of a session in process memory; below touchEvery, so that Redis sees each use

	sessionsPerUser = 100 // one more ends the least recently used session

	redisTimeout = 250 * time.Millisecond
	writeTimeout = 5 * time.Second // of a transaction
)

var (
	//go:embed lua/session_fill.lua
	sessionFillLua string
	//go:embed lua/session_use.lua
	sessionUseLua string
	//go:embed lua/session_end.lua
	sessionEndLua string
	//go:embed sql/session.sql
	sessionSQL string
)

// A Viewer is the user of a request. The zero value is an anonymous viewer.
type Viewer struct {
	ID       int64  // 0 if anonymous
	session  string // its id
	unknown  error  // of the failed check of the token; nil if it succeeded
	identity *identity
}

// An identity lazily reads the user of a viewer: most requests do not need it. It is safe
// for concurrent use.
type identity struct {
	accounts *Service
	user     atomic.Pointer[User] // nil before the first read
}

// User returns the viewer's user, or nil for an anonymous viewer. Repeated calls return
// the same user. It costs at most one round trip to Redis. It returns UNAVAILABLE if the
// session or the user cannot be read.
func (v Viewer) User(ctx context.Context) (*User, error) {
	if v.unknown != nil {
		return nil, unknownViewer(v.unknown)
	}
	if v.identity == nil {
		return nil, nil //nolint:nilnil // an anonymous viewer is not an error
	}
	if user := v.identity.user.Load(); user != nil {
		return user, nil
	}
	user, err := v.identity.accounts.ByID(cache.AllowLocal(ctx), v.ID)
	if errors.Is(err, apierror.ErrNotFound) {
		// Each session has a user. Another process may have just created the account,
		// before this one received the message.
		user, err = v.identity.accounts.ByID(cache.SkipLocal(ctx), v.ID)
	}
	if errors.Is(err, apierror.ErrNotFound) {
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, unknownViewer(err)
	}
	v.identity.user.CompareAndSwap(nil, user)
	return v.identity.user.Load(), nil
}

func unknownViewer(err error) error {
	return apierror.New(apierror.Unavailable, "Cannot verify your session. Try again.").WithCause(err)
}

// Require returns nil if the viewer has the role. Otherwise it returns UNAUTHENTICATED,
// FORBIDDEN or UNAVAILABLE.
func (v Viewer) Require(ctx context.Context, role Role) error {
	user, err := v.User(ctx)
	switch {
	case err != nil:
		return err
	case user == nil:
		return apierror.New(apierror.Unauthenticated, "Sign in first.")
	case !user.Role.Includes(role):
		return apierror.New(apierror.Forbidden, "You don't have permission to do this.")
	}
	return nil
}

// Session returns the id of the viewer's session, "" for an anonymous viewer. It is not
// secret: the token cannot be derived from it.
func (v Viewer) Session() string { return v.session }

// Unknown reports whether the request had a token that could not be checked.
func (v Viewer) Unknown() bool { return v.unknown != nil }

// Authenticate returns the viewer of a token. An invalid token and an ended session give
// an anonymous viewer. So does a failure of both Redis and the database, but then
// [Viewer.Require] returns UNAVAILABLE: a client must not mistake an outage for a logout.
//
// It costs nothing for a session in this process's memory, otherwise one round trip to
// Redis. [Viewer.User] and [Viewer.Require] read the user when they need it.
func (s *Service) Authenticate(ctx context.Context, token string) Viewer {
	ctx, span := observe.Span(ctx, "account.Authenticate")
	defer span.End()
	id, ok := sessionOf(token)
	if !ok {
		return Viewer{}
	}
	userID, err := s.sessions.find(ctx, id)
	if errors.Is(err, apierror.ErrNotFound) {
		return Viewer{}
	}
	if err != nil {
		return Viewer{unknown: err}
	}
	return Viewer{ID: userID, session: id, identity: &identity{accounts: s}}
}

func (s *Service) viewerOf(u *User, session string) Viewer {
	v := Viewer{ID: u.ID, session: session, identity: &identity{accounts: s}}
	v.identity.user.Store(u)
	return v
}

// Logout ends the viewer's session: in this process at once, in others within moments, or
// within a second if they are disconnected. If Redis is unavailable or rejects writes,
// sessions are read from their rows. The outbox marks the end in Redis before Redis is
// read again, even if this process crashes first.
func (s *Service) Logout(ctx context.Context, v Viewer) error {
	ctx, span := observe.Span(ctx, "account.Logout")
	defer span.End()
	return s.sessions.end(ctx, v.session)
}

// DropSessions drops all sessions from this process's memory. Call it when Redis rejects
// writes: sessions that were read recently may have ended.
func (s *Service) DropSessions() { s.sessions.memory.DropAll() }

// sessionOf returns the session id of a token, which is its SHA-256. The token is not
// stored, so a copy of the database or of Redis permits no login.
func sessionOf(token string) (id string, ok bool) {
	if len(token) != tokenLen { // the decoder would ignore line ends
		return "", false
	}
	var text [tokenLen]byte
	var random [tokenBytes]byte
	copy(text[:], token)
	if _, err := base64.RawURLEncoding.Strict().Decode(random[:], text[:]); err != nil {
		return "", false
	}
	sum := sha256.Sum256(text[:])
	base64.RawURLEncoding.Encode(text[:], sum[:])
	return string(text[:]), true
}

const (
	tokenBytes = 32 // 256 bits
	tokenLen   = (tokenBytes*8 + 5) / 6
)

func newToken() string {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process first
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// sessions stores each session in a hash in Redis, which serves all requests, and in a row. It
// writes the row at the beginning and then at most hourly.
//
// A session expires 36 hours after its last use, and 90 days after its beginning. If Redis
// loses it, the row applies, which may be an hour old: then the session lives for at least
// 35 hours. A user has at most 100 sessions.
//
// The end of a session is stored in its row, together with an outbox job, and then in Redis
// in place of the hash. So it survives an outage of Redis, a loss of recent writes in Redis
// and a crash of the process. A hash that a snapshot of Redis restores is detected at the
// next refresh of the row, within an hour.
//
// Processes cache used sessions in memory for up to 30 seconds.
type sessions struct {
	db      *ent.Client
	rdb     redis.Cmdable
	outbox  *outbox.Box
	memory  *cache.Memory[string, int64] // the users of sessions
	devices *devices
	keys    keys
	ended   func(ctx context.Context, ids ...string) error
	now     func() time.Time
	rows    *semaphore.Weighted // limits readers of rows
	waiting atomic.Int64        // readers in the queue for rows

	fill, use, mark *redis.Script

	reads    *prometheus.CounterVec
	failures *observe.FailureLog
}

// sessionConfig is the Config of a Service with the parts that sessions share.
type sessionConfig struct {
	Config
	keys     keys
	devices  *devices
	failures *observe.FailureLog
}

func newSessions(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg sessionConfig) *sessions {
	s := &sessions{
		db: db, rdb: cfg.Redis, outbox: box, memory: newMemory(hub), devices: cfg.devices, keys: cfg.keys, ended: cfg.OnSessionsEnded, failures: cfg.failures, now: time.Now,
		rows: semaphore.NewWeighted(int64(orDefault(cfg.SessionRowsAtOnce, 8))),
		fill: redis.NewScript(sessionFillLua), use: redis.NewScript(sessionUseLua), mark: redis.NewScript(sessionEndLua),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_session_reads_total", Help: "Session reads, by source: redis, row, none (no such session) or failed.",
		}, []string{"source"}),
	}
	cfg.Registerer.MustRegister(s.reads)
	for _, source := range []string{"redis", "row", "none", "failed"} {
		s.reads.WithLabelValues(source)
	}
	return s
}

// newMemory opens the in-process cache of sessions, which every authenticated request
// reads. An end in another process arrives within moments, or within a second if the
// processes are disconnected.
func newMemory(hub *cache.Client) *cache.Memory[string, int64] {
	same := func(id string) string { return id }
	return cache.NewMemory[string, int64](hub, cache.Policy{
		Name: "session", TTL: memoryLife,
		Local: cache.Local{Share: 0.1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, same, func(text string) (string, error) { return text, nil })
}

// live is a session that has not ended.
type live struct {
	user int64
	end  time.Time // latest possible end
}

// find returns the user of a session, or [apierror.ErrNotFound].
func (s *sessions) find(ctx context.Context, id string) (user int64, err error) {
	return s.memory.Get(ctx, id, func(ctx context.Context) (cache.Loaded[int64], error) {
		found, inRedis, err := s.load(ctx, id)
		return cache.Loaded[int64]{Value: found.user, TTL: min(memoryLife, found.end.Sub(s.now())), Remote: inRedis}, err
	})
}

func (s *sessions) load(ctx context.Context, id string) (found live, inRedis bool, err error) {
	state, found, err := s.readRedis(ctx, id)
	unavailable := err != nil
	if !unavailable && state >= isLive {
		s.reads.WithLabelValues("redis").Inc()
		if state == rowIsDue {
			err = s.refreshRow(ctx, id, found)
		}
		return found, true, err
	}
	if unavailable && ctx.Err() == nil {
		s.failures.Record(ctx, "read", err)
	}
	if state != isOver {
		found, err = s.fromRow(ctx, id, !unavailable)
	}
	switch {
	case err == nil && found.user != 0:
		s.reads.WithLabelValues("row").Inc()
		return found, false, nil
	case err == nil || errors.Is(err, apierror.ErrNotFound):
		s.reads.WithLabelValues("none").Inc()
		return live{}, false, apierror.ErrNotFound
	}
	s.reads.WithLabelValues("failed").Inc()
	return live{}, false, fmt.Errorf("read session: %w", err)
}

// Results of session_use.lua.
const (
	isOver   = -1
	isLive   = 1
	rowIsDue = 2 // live, and the caller must write the row
)

// readRedis reads a session from Redis, and extends it there if that is due.
func (s *sessions) readRedis(ctx context.Context, id string) (state int64, found live, err error) {
	answer, err := runScript(ctx, s.rdb, s.use, []string{s.keys.session(id)},
		s.now().UnixMilli(), sessionLife.Milliseconds(), touchEvery.Milliseconds(), rowEvery.Milliseconds()).Slice()
	if err != nil {
		return 0, live{}, fmt.Errorf("read session from Redis: %w", err)
	}
	state, _ = answer[0].(int64)
	if state < isLive {
		return state, live{}, nil
	}
	number := func(i int) int64 {
		text, _ := answer[i].(string)
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
	return state, live{user: number(1), end: time.UnixMilli(number(2))}, nil
}

// expiry returns the expiry of a session that is used now.
func expiry(now, end time.Time) time.Time {
	if until := now.Add(sessionLife); until.Before(end) {
		return until
	}
	return end
}

// refreshRow writes the use of a session to its row. It returns [apierror.ErrNotFound] if
// the session has ended.
func (s *sessions) refreshRow(ctx context.Context, id string, used live) error {
	now := s.now()
	exists, err := s.updateRow(ctx, id, now, expiry(now, used.end))
	if err != nil { // the row has at least 35 hours left
		s.failures.Record(ctx, "refresh_row", err)
		return nil
	}
	if !exists { // it ended, but Redis has no end mark
		if err := s.propagateEnd(ctx, id); err != nil {
			s.failures.Record(ctx, "refresh", err)
		}
		return apierror.ErrNotFound
	}
	return nil
}

// updateRow sets the use and expiry of a session's row. It reports whether a live row exists.
func (s *sessions) updateRow(ctx context.Context, id string, now, until time.Time) (exists bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	n, err := s.db.Session.Update().Where(entsession.ID(id), entsession.EndedAtIsNil(), entsession.CreatedAtGT(now.Add(-sessionMax).UTC())).
		SetExpiresAt(until.UTC()).SetUsedAt(now.UTC()).Save(ctx)
	if err != nil {
		return false, fmt.Errorf("update session: %w", err)
	}
	return n > 0, nil
}

func (s *sessions) fromRow(ctx context.Context, id string, fill bool) (live, error) {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	now := s.now()
	found, used, err := s.row(ctx, id, now)
	if err != nil {
		return live{}, err
	}
	if fill {
		s.put(ctx, id, found, expiry(now, found.end), used)
	}
	return found, nil
}

// row returns the user, end and last use of a session from its row, and refreshes the row
// if that is due. A semaphore bounds concurrent reads, so that an empty Redis does not send
// every request to the database; calls beyond [rowQueue] fail. The statement is prepared,
// because all requests run it after a loss of Redis.
func (s *sessions) row(ctx context.Context, id string, now time.Time) (found live, used time.Time, err error) {
	if !s.rows.TryAcquire(1) {
		if s.waiting.Add(1) > rowQueue {
			s.waiting.Add(-1)
			return found, used, errors.New("too many concurrent reads of session rows")
		}
		err := s.rows.Acquire(ctx, 1)
		s.waiting.Add(-1)
		if err != nil {
			return found, used, fmt.Errorf("wait to read session row: %w", err)
		}
	}
	defer s.rows.Release(1)
	var ends time.Time
	var last *time.Time // nil in a row of an earlier version
	err = sqldb.Each(sqldb.Prepared(ctx), s.db, sqldb.Statement(sessionSQL), []any{id, now.UTC(), now.Add(-sessionMax).UTC()}, func(rows *stdsql.Rows) error {
		return rows.Scan(&found.user, &ends, &found.end, &last)
	})
	if err != nil {
		return found, used, fmt.Errorf("select session: %w", err)
	}
	if found.user == 0 {
		return found, used, apierror.ErrNotFound
	}
	found.end = found.end.Add(sessionMax) // the row has the beginning
	if used = lastUse(last, ends); now.Sub(used) >= rowEvery {
		exists, err := s.updateRow(ctx, id, now, expiry(now, found.end))
		if err != nil {
			return found, used, err
		}
		if !exists {
			return found, used, apierror.ErrNotFound
		}
		used = now
	}
	return found, used, nil
}

// put stores a session in Redis. After an error, the next request reads the row. used is
// the last use in the row.
func (s *sessions) put(ctx context.Context, id string, of live, until, used time.Time) {
	_, err := s.runScript(ctx, s.fill, id, of.user, until.UnixMilli(), used.Add(sessionLife).UnixMilli(), of.end.UnixMilli(), until.Sub(s.now()).Milliseconds())
	if err != nil {
		s.failures.Record(ctx, "fill", err)
	}
}

// errPasswordChanged reports that the password changed after its verification.
var errPasswordChanged = errors.New("password changed concurrently")

// A loginSpec describes an accepted login.
type loginSpec struct {
	user         int64
	passwordHash *string // the verified hash; nil after a code
	device       device  // zero if unknown
	from         Origin
}

type startedSession struct {
	token, id string
	row       *ent.User
	device    device // zero if the client cannot store a token
}

// begin starts a session and reads the current user. A verified password hash must still
// be the user's: a password change also ends sessions that are about to begin with the old
// password.
func (s *sessions) begin(ctx context.Context, b loginSpec) (is startedSession, err error) {
	is.token = newToken()
	is.id, _ = sessionOf(is.token)
	now := s.now()
	until, end := now.Add(sessionLife), now.Add(sessionMax)
	var over []string
	var job []outbox.JobRef
	err = s.inTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		var err error
		if is.row, err = lockUser(ctx, tx, b.user); err != nil {
			return err
		}
		if b.passwordHash != nil && optional.Value(is.row.PasswordHash) != *b.passwordHash {
			return errPasswordChanged
		}
		create := tx.Session.Create().SetID(is.id).SetUserID(b.user).SetCreatedAt(now.UTC()).SetUsedAt(now.UTC()).SetExpiresAt(until.UTC()).
			SetNillableDevice(optional.OrNil(describe(b.from.UserAgent)))
		if b.from.Remembers {
			if is.device, err = s.devices.renew(ctx, tx, b.user, b.device); err != nil {
				return err
			}
			create.SetDeviceID(is.device.id)
		}
		if err := create.Exec(ctx); err != nil {
			return fmt.Errorf("insert session: %w", err)
		}
		over, job, err = s.endOldest(ctx, tx, b.user)
		return err
	})
	if err != nil {
		return startedSession{}, err
	}
	s.put(ctx, is.id, live{b.user, end}, until, now)
	s.afterCommit(ctx, job, over...)
	return is, nil
}

func (s *sessions) endOldest(ctx context.Context, tx *ent.Tx, user int64) ([]string, []outbox.JobRef, error) {
	ids, err := tx.Session.Query().Where(entsession.UserID(user), entsession.EndedAtIsNil()).
		Order(entsession.ByExpiresAt(sql.OrderDesc()), entsession.ByID()).Offset(sessionsPerUser).Limit(endBatch).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	job, err := s.endThese(ctx, tx, ids)
	return ids, job, err
}

// lockUser reads and locks a user's row. Until the transaction ends, no other transaction
// can change it or begin a session of the user.
func lockUser(ctx context.Context, tx *ent.Tx, user int64) (*ent.User, error) {
	q := tx.User.Query().Where(entuser.ID(user))
	q.Modify(sqldb.ForUpdate)
	row, err := q.Only(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock user %d: %w", user, err)
	}
	return row, nil
}

// inTx runs work in a transaction with its own deadline, independent of the request: after
// a commit, the invalidation must follow.
func (s *sessions) inTx(ctx context.Context, work func(context.Context, *ent.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return work(ctx, tx) })
}

func (s *sessions) runScript(ctx context.Context, script *redis.Script, id string, args ...any) (int, error) {
	return runScript(ctx, s.rdb, script, []string{s.keys.session(id)}, args...).Int()
}

// CreateSessions creates a session for each user and returns the tokens, in order. It
// writes only rows, in bulk; Redis gets a session at its first use. It is for seeds.
func (s *Service) CreateSessions(ctx context.Context, users []int64) ([]string, error) {
	tokens := make([]string, 0, len(users))
	for batch := range slices.Chunk(users, bulk) {
		writes := make([]*ent.SessionCreate, len(batch))
		now := s.sessions.now().UTC()
		for i, user := range batch {
			token := newToken()
			id, _ := sessionOf(token)
			tokens = append(tokens, token)
			writes[i] = s.db.Session.Create().SetID(id).SetUserID(user).SetCreatedAt(now).SetUsedAt(now).SetExpiresAt(now.Add(sessionLife))
		}
		if err := s.db.Session.CreateBulk(writes...).Exec(ctx); err != nil {
			return nil, fmt.Errorf("insert %d sessions: %w", len(batch), err)
		}
	}
	return tokens, nil
}
