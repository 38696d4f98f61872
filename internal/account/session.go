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
	sessionLife = 36 * time.Hour   // of a session from its last use on
	sessionMax  = 90 * day         // of a session from its beginning, however much it is used
	touchEvery  = time.Minute      // least time between two refreshes in Redis
	rowEvery    = time.Hour        // least time between two refreshes of the row
	endedLife   = time.Minute      // of the mark of a session that ended; any read of a row is over by then
	rowTimeout  = 2 * time.Second  // of reading a row, the wait for it included
	endTimeout  = time.Second      // of telling Redis of sessions that ended; the outbox tells the rest
	rowQueue    = 512              // readers that may wait for a row at once; more are refused
	purgeEvery  = time.Minute      // how often rows of sessions that are over are deleted
	workTimeout = 30 * time.Second // of one purge

	endedRowLife = time.Hour        // of the row of a session that ended: jobs that tell Redis are over by then
	memoryLife   = 30 * time.Second // of a session in the process's own memory; shorter than touchEvery, so that Redis sees it used

	sessionsPerUser = 100 // one more ends the one that was used least lately

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

// A Viewer is the user of a request. The zero value is a visitor who is not signed in.
type Viewer struct {
	ID       int64  // 0 for a visitor who is not signed in
	session  string // its id
	unknown  error  // why it is not known who this is
	identity *identity
}

// An identity is the user of a viewer, which is read when it is first needed: most fields
// do not depend on a role. It is safe for concurrent use.
type identity struct {
	accounts *Service
	user     atomic.Pointer[User] // nil until it was read
}

// User returns the viewer's user, nil for a visitor. It stays the same for this viewer. It
// costs at most one round trip to Redis. It returns a fault when it cannot be read at the moment.
func (v Viewer) User(ctx context.Context) (*User, error) {
	if v.unknown != nil {
		return nil, unknownViewer(v.unknown)
	}
	if v.identity == nil {
		return nil, nil //nolint:nilnil // a visitor is no error
	}
	if user := v.identity.user.Load(); user != nil {
		return user, nil
	}
	user, err := v.identity.accounts.ByID(cache.AllowLocal(ctx), v.ID)
	if errors.Is(err, apierror.ErrNotFound) {
		// Each session has a user. Another process may have just made the account, and
		// this one has not received the message yet.
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
	return apierror.New(apierror.Unavailable, "Who you are cannot be read at the moment. Try again.").WithCause(err)
}

// Require returns nil if the viewer has the role, else a fault that says what
// is missing.
func (v Viewer) Require(ctx context.Context, role Role) error {
	user, err := v.User(ctx)
	switch {
	case err != nil:
		return err
	case user == nil:
		return apierror.New(apierror.Unauthenticated, "Sign in first.")
	case !user.Role.Includes(role):
		return apierror.New(apierror.Forbidden, "This is not for you.")
	}
	return nil
}

// Session is the id of the viewer's session, "" for nobody's. It is no secret: nobody can make
// a token of it.
func (v Viewer) Session() string { return v.session }

// Unknown says that a token was given of which it could not be found out now
// whose it is.
func (v Viewer) Unknown() bool { return v.unknown != nil }

// Authenticate says whose session a token is. A token that is none, or whose
// session is over, is nobody's. If neither Redis nor the database can say, the
// viewer is nobody either, but [Viewer.Require] then answers UNAVAILABLE: a
// client must not take a moment without stores for having been signed out.
//
// For a user of the last seconds it costs nothing, otherwise one round trip to Redis. The
// user is read when [Viewer.User] or [Viewer.Require] needs it.
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

// viewerOf is a viewer whose user was just read.
func (s *Service) viewerOf(u *User, session string) Viewer {
	v := Viewer{ID: u.ID, session: session, identity: &identity{accounts: s}}
	v.identity.user.Store(u)
	return v
}

// Logout ends the viewer's session: in this process at once, in the others within
// moments, a second if they are cut off. While Redis is away or refuses writes,
// sessions are read from their rows. It is told before it is read again, even if this
// process ends first.
func (s *Service) Logout(ctx context.Context, v Viewer) error {
	ctx, span := observe.Span(ctx, "account.Logout")
	defer span.End()
	return s.sessions.end(ctx, v.session)
}

// DropSessions drops the sessions that this process holds. It is for a Redis that was
// found to refuse writes: what was read of it lately may have ended.
func (s *Service) DropSessions() { s.sessions.memory.DropAll() }

// sessionOf is the id of the session that a token belongs to: its SHA-256. The
// token itself is stored nowhere, so a copy of the database or of Redis lets
// nobody in.
func sessionOf(token string) (id string, ok bool) {
	if len(token) != tokenLen { // the decoder would overlook line ends
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

// sessions keeps who is signed in: a row for each session, written when it
// begins and then hourly at most, and a hash in Redis for every request.
//
// A session lives for 36 hours from its last use, and 90 days at most. Of one that Redis lost, the
// row counts, which may be an hour behind: then it lives for at least 35. A user
// has at most a hundred.
//
// The end of a session is first noted in its row, together with a job of the
// outbox, then in Redis, in place of the hash. So a Redis that was away, one that
// lost what it was told of late, or an instance that died in between, learns of
// it. A hash that came back all the same, with a snapshot older than that, is
// found out when its row is next due: within an hour.
//
// Processes keep sessions that are used in their own memory for some seconds.
type sessions struct {
	db      *ent.Client
	rdb     redis.Cmdable
	outbox  *outbox.Box
	memory  *cache.Memory[string, int64] // the users of sessions
	devices *devices
	keys    keys
	ended   func(ctx context.Context, ids ...string) error
	now     func() time.Time
	rows    *semaphore.Weighted // readers of rows
	waiting atomic.Int64        // for rows

	fill, use, mark *redis.Script

	reads    *prometheus.CounterVec
	failures *observe.FailureLog
}

// sessionConfig is the Config of a Service, with the parts that its sessions share.
type sessionConfig struct {
	Config
	keys     keys
	devices  *devices
	failures *observe.FailureLog
}

func newSessions(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg sessionConfig) *sessions {
	s := &sessions{
		db: db, rdb: cfg.Redis, outbox: box, memory: newMemory(hub), devices: cfg.devices, keys: cfg.keys, ended: cfg.Ended, failures: cfg.failures, now: time.Now,
		rows: semaphore.NewWeighted(int64(orDefault(cfg.SessionRowsAtOnce, 8))),
		fill: redis.NewScript(sessionFillLua), use: redis.NewScript(sessionUseLua), mark: redis.NewScript(sessionEndLua),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_session_reads_total", Help: "Looks for the session of a token, by what answered: redis, row, or nothing (none, failed).",
		}, []string{"source"}),
	}
	cfg.Registerer.MustRegister(s.reads)
	for _, source := range []string{"redis", "row", "none", "failed"} {
		s.reads.WithLabelValues(source)
	}
	return s
}

// newMemory says how sessions are kept in the process's own memory. Each request
// of somebody who is logged in asks for one; that a session ended elsewhere is
// heard within moments, and within a second if the processes are cut off from each
// other.
func newMemory(hub *cache.Client) *cache.Memory[string, int64] {
	same := func(id string) string { return id }
	return cache.NewMemory[string, int64](hub, cache.Policy{
		Name: "session", TTL: memoryLife,
		Local: cache.Local{Share: 0.1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, same, func(text string) (string, error) { return text, nil })
}

// live is a session that is not over.
type live struct {
	user int64
	end  time.Time // at the latest
}

// find returns the user of a session, or [fault.ErrNotFound].
func (s *sessions) find(ctx context.Context, id string) (user int64, err error) {
	return s.memory.Get(ctx, id, func(ctx context.Context) (cache.Loaded[int64], error) {
		found, inRedis, err := s.load(ctx, id)
		return cache.Loaded[int64]{Value: found.user, Life: min(memoryLife, found.end.Sub(s.now())), Remote: inRedis}, err
	})
}

// load asks Redis, or the row of the session.
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

// What session_use.lua says of a session.
const (
	isOver   = -1
	isLive   = 1
	rowIsDue = 2 // it is live, and the caller must write the row
)

// readRedis reads a session from Redis, and extends it there if that is due.
func (s *sessions) readRedis(ctx context.Context, id string) (state int64, found live, err error) {
	answer, err := runScript(ctx, s.rdb, s.use, []string{s.keys.session(id)},
		s.now().UnixMilli(), sessionLife.Milliseconds(), touchEvery.Milliseconds(), rowEvery.Milliseconds()).Slice()
	if err != nil {
		return 0, live{}, fmt.Errorf("ask Redis for a session: %w", err)
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

// expiry returns when a session that is used now ends unless it is used again.
func expiry(now, end time.Time) time.Time {
	if until := now.Add(sessionLife); until.Before(end) {
		return until
	}
	return end
}

// refreshRow has the row of a session follow its use. It returns [fault.ErrNotFound] if the
// session is over.
func (s *sessions) refreshRow(ctx context.Context, id string, used live) error {
	now := s.now()
	exists, err := s.updateRow(ctx, id, now, expiry(now, used.end))
	if err != nil { // the row has at least 35 hours left
		s.failures.Record(ctx, "refresh_row", err)
		return nil
	}
	if !exists { // it ended while Redis was not told, or had lost that
		if err := s.propagateEnd(ctx, id); err != nil {
			s.failures.Record(ctx, "refresh", err)
		}
		return apierror.ErrNotFound
	}
	return nil
}

// updateRow moves the end of a session's row, and reports whether there is one that is not
// over.
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

// fromRow reads a session that Redis does not have from its row, and puts it
// there if it is told so. Not many read rows at once: a Redis that comes back
// empty would otherwise send every request to the database.
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

// row returns the user, the end and the last use of a session from its row, and refreshes
// the row if it is due. A semaphore bounds concurrent calls; calls beyond [rowQueue] fail.
// The statement is prepared: when Redis lost the sessions, every request runs it.
func (s *sessions) row(ctx context.Context, id string, now time.Time) (found live, used time.Time, err error) {
	if !s.rows.TryAcquire(1) {
		if s.waiting.Add(1) > rowQueue {
			s.waiting.Add(-1)
			return found, used, errors.New("too many sessions are being read from their rows")
		}
		err := s.rows.Acquire(ctx, 1)
		s.waiting.Add(-1)
		if err != nil {
			return found, used, fmt.Errorf("wait to read a session from its row: %w", err)
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
	found.end = found.end.Add(sessionMax) // the row has its beginning
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

// put fills a session into Redis. If that fails, the row answers the next time. used is
// the last use in the row.
func (s *sessions) put(ctx context.Context, id string, of live, until, used time.Time) {
	_, err := s.runScript(ctx, s.fill, id, of.user, until.UnixMilli(), used.Add(sessionLife).UnixMilli(), of.end.UnixMilli(), until.Sub(s.now()).Milliseconds())
	if err != nil {
		s.failures.Record(ctx, "fill", err)
	}
}

// errPasswordChanged says that a password is not any more what it was a moment
// before.
var errPasswordChanged = errors.New("the password has been changed meanwhile")

// A loginSpec is a login that was accepted.
type loginSpec struct {
	user         int64
	passwordHash *string // that was verified; nil after a code
	device       device  // that is known; zero if none
	from         Origin
}

// startedSession is a session that has begun.
type startedSession struct {
	token, id string
	row       *ent.User
	device    device // zero if the client cannot keep a token
}

// begin starts a session, with the user as of now. A password hash must still be the
// user's: a change of the password ends all sessions that an old one began, also those
// that are about to begin.
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

// endOldest ends a user's sessions beyond the number that one may have.
func (s *sessions) endOldest(ctx context.Context, tx *ent.Tx, user int64) ([]string, []outbox.JobRef, error) {
	ids, err := tx.Session.Query().Where(entsession.UserID(user), entsession.EndedAtIsNil()).
		Order(entsession.ByExpiresAt(sql.OrderDesc()), entsession.ByID()).Offset(sessionsPerUser).Limit(endBatch).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	job, err := s.endThese(ctx, tx, ids)
	return ids, job, err
}

// lockUser reads a user's row, and keeps others from changing it, or from
// beginning a session of that user, until the transaction ends.
func lockUser(ctx context.Context, tx *ent.Tx, user int64) (*ent.User, error) {
	q := tx.User.Query().Where(entuser.ID(user))
	q.Modify(sqldb.ForUpdate)
	row, err := q.Only(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock user %d: %w", user, err)
	}
	return row, nil
}

// inTx runs work in a transaction that ends with its own deadline and not with
// the request's: a commit that a client did not wait for is still followed by
// what must follow.
func (s *sessions) inTx(ctx context.Context, work func(context.Context, *ent.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return work(ctx, tx) })
}

// runScript runs a script on the hash of a session.
func (s *sessions) runScript(ctx context.Context, script *redis.Script, id string, args ...any) (int, error) {
	return runScript(ctx, s.rdb, script, []string{s.keys.session(id)}, args...).Int()
}

// CreateSessions begins a session for each of the users and returns the tokens, in their
// order. It writes rows alone, in bulk: each goes to Redis when it is first
// used. It is for seeds, not for people.
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
