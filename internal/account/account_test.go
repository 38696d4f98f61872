package account

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A mailbox is a Sender that stores the codes.
type mailbox struct {
	mu      sync.Mutex
	codes   map[Phone][]string
	fail    error
	secrets *testkit.Secrets
}

func (m *mailbox) Send(_ context.Context, to Phone, code string, _ time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		m.secrets.Add(code)
		return m.fail
	}
	if m.codes == nil {
		m.codes = map[Phone][]string{}
	}
	m.codes[to] = append(m.codes[to], code)
	m.secrets.Add(code)
	return nil
}

func (m *mailbox) last(t *testing.T, p Phone) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.codes[p]) == 0 {
		t.Fatal("no code was sent")
	}
	return m.codes[p][len(m.codes[p])-1]
}

// A process is one of several instances of the Service.
type process struct {
	*Service
	rdb         redis.UniversalClient
	reg         *prometheus.Registry
	unavailable *atomic.Bool // Redis fails all commands
	outbox      *mailbox
}

// open starts a process on stores that other processes may share.
func open(t *testing.T, on storetest.Stores, cfg Config) process {
	t.Helper()
	from := storetest.Open(t, on)
	wire := &storetest.FaultyRedis{}
	from.Redis.AddHook(wire)
	for _, password := range []string{"correct horse", "wrong horse"} {
		from.Secrets.Add(password)
	}
	outbox := &mailbox{secrets: from.Secrets}
	cfg.Redis, cfg.Prefix, cfg.Pictures = from.Redis, storetest.Prefix, storetest.AnyPictures{}
	cfg.Registerer, cfg.Log = from.Registry, from.Log
	if cfg.Sender == nil {
		cfg.Sender = outbox
	}
	s := New(from.DB, from.Hub, from.NewOutbox(t), cfg)
	if err := s.LoadSecret(t.Context()); err != nil {
		t.Fatal(err)
	}
	return process{s, from.Redis, from.Registry, &wire.Down, outbox}
}

// jobs returns the number of pending outbox jobs.
func (p process) jobs(t *testing.T) (n int64) {
	t.Helper()
	p.Service.outbox.Wait()
	list, err := p.Service.outbox.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range list {
		n += topic.Waiting
	}
	return n
}

// count returns a counter by its name and label values, in the order of the label names.
func (p process) count(t *testing.T, name string, labels ...string) (n float64) {
	t.Helper()
	families, err := p.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(values, labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("unknown metric %s %v", name, labels)
	return 0
}

const ann, ben Phone = "+8613900000001", "+8613900000002"

// code sends a new code to a phone, regardless of earlier codes.
func (p process) code(t *testing.T, to Phone) string {
	t.Helper()
	if err := p.rdb.Unlink(t.Context(), p.keys.codePause(to, 0)).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.SendCode(t.Context(), to.E164(), Origin{}); err != nil {
		t.Fatal(err)
	}
	return p.outbox.last(t, to)
}

// login logs in by code.
func (p process) login(t *testing.T, who Phone) *Login {
	t.Helper()
	code := p.code(t, who)
	in, err := p.Login(t.Context(), Credentials{Phone: who.E164(), Code: &code})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// resetDay clears the daily code counters of a phone.
func (p process) resetDay(t *testing.T, of Phone) {
	t.Helper()
	for _, key := range []string{p.keys.codeDay(of, 0), p.keys.codeNetworkDay(of, client{}.site()), p.keys.codeNetworkDay(of, cookies("").Network)} {
		if err := p.rdb.Unlink(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// passwordChange returns a change of a phone's password with a new code.
func (p process) passwordChange(t *testing.T, of Phone, password string) PasswordChange {
	t.Helper()
	p.resetDay(t, of)
	code := p.code(t, of)
	return PasswordChange{Password: password, Code: &code}
}

// wantRefusal checks that err is a refusal with this code and field.
func wantRefusal(t *testing.T, err error, code apierror.Code, field string) {
	t.Helper()
	r, ok := errors.AsType[apierror.UserErrors](err)
	if !ok || len(r) != 1 || r[0].Code != code || strings.Join(r[0].Field, ".") != field {
		t.Errorf("got %v about %v, want %s about %s", err, r, code, field)
	}
}

func TestCodeLogsInOnce(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		if _, err := p.ByIDs(t.Context(), []int64{1, 2, 3}); err != nil { // caches their absence
			t.Fatal(err)
		}
		in := p.login(t, ann)
		if !regexp.MustCompile(`^user_[a-z0-9]{10}$`).MatchString(in.User.Nickname) || in.User.Role != Customer || *in.User.Phone != "139****0001" || in.User.ID > 3 {
			t.Errorf("unexpected new user %+v", in.User)
		}
		used := p.outbox.last(t, ann)
		_, err := p.Login(t.Context(), Credentials{Phone: "13900000001", Code: &used})
		wantRefusal(t, err, InvalidCode, "input.code")
		again := p.login(t, ann)
		if again.User.ID != in.User.ID || again.Token == in.Token {
			t.Errorf("second login: got user %d, want %d; same token %v", again.User.ID, in.User.ID, again.Token == in.Token)
		}
		for _, token := range []string{in.Token, again.Token} {
			if v := p.Authenticate(t.Context(), token); v.ID != in.User.ID || roleOf(t, v) != Customer {
				t.Errorf("got viewer %+v, want user %d", v, in.User.ID)
			}
		}
		if v := p.Authenticate(t.Context(), newToken()); v != (Viewer{}) {
			t.Errorf("unknown token: got viewer %+v, want none", v)
		}
	})
}

func TestConcurrentGuessesAreLimitedToFive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		code := p.code(t, ann)
		var wrong sync.WaitGroup
		for i := range 10 {
			wrong.Go(func() {
				guess := fmt.Sprintf("%06d", (i+1)*99)
				if guess == code {
					guess = "000000"
				}
				_, err := []process{p, q}[i%2].Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess})
				wantRefusal(t, err, InvalidCode, "input.code")
			})
		}
		wrong.Wait()
		count := func(outcome string) float64 {
			return p.count(t, "tandian_logins_total", "code", outcome) + q.count(t, "tandian_logins_total", "code", outcome)
		}
		if count("wrong") != 5 || count("dead") != 5 {
			t.Errorf("got %v compared and %v rejected guesses, want 5 and 5", count("wrong"), count("dead"))
		}
		_, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code})
		wantRefusal(t, err, InvalidCode, "input.code")
		p.login(t, ann) // a new code works
	})
}

func TestOneCodePermitsOneLogin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		code := p.code(t, ann)
		var in atomic.Int32
		var all sync.WaitGroup
		for range codeTries {
			all.Go(func() {
				if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code}); err == nil {
					in.Add(1)
				}
			})
		}
		all.Wait()
		if in.Load() != 1 {
			t.Errorf("got %d logins with one code, want 1", in.Load())
		}
	})
}

func TestConcurrentFirstLoginsCreateOneUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		processes := []process{open(t, on, Config{}), open(t, on, Config{})}
		for round := range 5 {
			phone := Phone(fmt.Sprintf("+861390000%04d", round))
			var mu sync.Mutex
			ids, fresh := map[int64]int{}, 0
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					row, made, err := processes[i%2].register(t.Context(), phone, phone)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
						return
					}
					ids[row.ID]++
					if made {
						fresh++
					}
				})
			}
			all.Wait()
			n, err := processes[0].db.User.Query().Where(entuser.Phone(phone.E164())).Count(t.Context())
			if err != nil || n != 1 || len(ids) != 1 || fresh != 1 {
				t.Errorf("round %d: got %d rows, %d ids, %d new, %v; want 1 of each", round, n, len(ids), fresh, err)
			}
		}
	})
}

func TestCodesAreLimitedByPhoneAndByAddress(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{CodesPerAddress: 12}), open(t, on, Config{CodesPerAddress: 12})
		send := func(p process, to Phone, from string) error {
			_, err := p.SendCode(t.Context(), to.E164(), Origin{Network: from})
			return err
		}
		if err := send(p, ann, ""); err != nil {
			t.Fatal(err)
		}
		again := send(q, ann, "") // within a minute
		wantRefusal(t, again, CodeThrottled, "phone")
		if why, _ := errors.AsType[apierror.UserErrors](again); why[0].RetryAfter <= 50*time.Second || why[0].RetryAfter > codePause {
			t.Errorf("got a wait of %v, want at most %v", why[0].RetryAfter, codePause)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.codePause(ann, 0)).Val(); ttl > time.Minute || ttl < 50*time.Second {
			t.Errorf("got a pause of %v, want a minute", ttl)
		}
		for range codesPerDay - 1 {
			p.code(t, ann)
		}
		p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 0))
		wantRefusal(t, send(p, ann, ""), CodeThrottled, "phone") // the eleventh of a day
		if n := len(p.outbox.codes[ann]); n != codesPerDay {
			t.Errorf("got %d codes, want %d", n, codesPerDay)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.codeDay(ann, 0)).Val(); ttl > day || ttl < day-time.Minute {
			t.Errorf("got a lifetime of %v, want a day", ttl)
		}
		for i := range 12 {
			if err := send([]process{p, q}[i%2], Phone(fmt.Sprintf("+8613911110%03d", i)), "192.0.2.1/32"); err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, send(p, ben, "192.0.2.1/32"), CodeThrottled, "phone")
		if err := send(p, ben, "192.0.2.2/32"); err != nil {
			t.Errorf("another address: %v", err)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.codeAddress("192.0.2.1/32", "")).Val(); ttl > time.Hour || ttl < time.Hour-time.Minute {
			t.Errorf("got a lifetime of %v, want an hour", ttl)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.code(ben, 0)).Val(); ttl > codeLife || ttl < codeLife-time.Minute {
			t.Errorf("got a lifetime of %v, want %v", ttl, codeLife)
		}
	})
}

func TestUnsentCodesAreWithdrawn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		p.outbox.fail = fmt.Errorf("no network: %w", ErrNotSent)
		for range 2 * codesPerDay {
			if _, err := p.SendCode(t.Context(), ann.E164(), Origin{}); apierror.KindOf(err) != apierror.Unavailable {
				t.Fatalf("got %v", err)
			}
		}
		if n := p.rdb.Exists(t.Context(), p.keys.code(ann, 0)).Val(); n != 0 {
			t.Error("the unsent code exists")
		}
		p.outbox.fail = nil
		if _, err := p.SendCode(t.Context(), ann.E164(), Origin{}); err != nil {
			t.Errorf("the next try: %v", err) // at once, not after a minute or a day
		}
		// A code that may have been sent is valid and counts.
		p.outbox.fail = errors.New("no answer")
		if _, err := p.SendCode(t.Context(), ben.E164(), Origin{}); apierror.KindOf(err) != apierror.Unavailable {
			t.Errorf("got %v", err)
		}
		wantRefusal(t, errOf(p.SendCode(t.Context(), ben.E164(), Origin{})), CodeThrottled, "phone")
		code := p.rdb.HGet(t.Context(), p.keys.code(ben, 0), "code").Val()
		if _, err := p.Login(t.Context(), Credentials{Phone: ben.E164(), Code: &code}); err != nil {
			t.Errorf("code that arrived anyway: %v", err)
		}
	})
}

func TestCodesNeedSenderAndRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		p.codes.sender = nil
		if _, err := p.SendCode(t.Context(), ann.E164(), Origin{}); apierror.KindOf(err) != apierror.Unavailable {
			t.Errorf("without a sender: %v", err)
		}
		_, err := p.SendCode(t.Context(), "123", Origin{})
		wantRefusal(t, err, InvalidPhone, "phone")
		p.codes.sender = p.outbox
		code, password := p.code(t, ann), "correct horse"
		p.unavailable.Store(true)
		for name, err := range map[string]error{
			"send":     errOf(p.SendCode(t.Context(), ben.E164(), Origin{})),
			"code":     errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code})),
			"password": errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password})),
		} {
			if apierror.KindOf(err) != apierror.Unavailable {
				t.Errorf("%s without Redis: %v", name, err)
			}
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func TestPasswordLogin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		try := func(who Phone, password string) error {
			return errOf(q.Login(t.Context(), Credentials{Phone: who.E164(), Password: &password}))
		}
		first, other := p.login(t, ann), p.login(t, ann)
		wantRefusal(t, try(ann, ""), InvalidCredentials, "input.password") // none is set
		if _, err := p.SetPassword(t.Context(), first.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		if v := p.Authenticate(t.Context(), other.Token); v.ID != 0 {
			t.Error("the other session survives the password change")
		}
		if v := q.Authenticate(t.Context(), first.Token); v.ID != first.User.ID {
			t.Error("the session that changed the password has ended")
		}
		_, err := p.SetPassword(t.Context(), first.Viewer, PasswordChange{Password: "short"})
		wantRefusal(t, err, apierror.InvalidInput, "password")
		if err := try(ann, "correct horse"); err != nil {
			t.Errorf("the right password: %v", err)
		}
		wantRefusal(t, try(ben, "correct horse"), InvalidCredentials, "input.password") // has no account

		// Five wrong passwords within 15 minutes; a right one resets the count.
		for range passwordTries - 1 {
			wantRefusal(t, try(ann, "wrong"), InvalidCredentials, "input.password")
		}
		if err := try(ann, "correct horse"); err != nil {
			t.Errorf("after four wrong passwords: %v", err)
		}
		var wrong sync.WaitGroup
		for range 2 * passwordTries {
			wrong.Go(func() { wantRefusal(t, try(ann, "wrong"), InvalidCredentials, "input.password") })
		}
		wrong.Wait()
		wantRefusal(t, try(ann, "correct horse"), InvalidCredentials, "input.password")
		if n := q.count(t, "tandian_logins_total", "password", "throttled"); n != passwordTries+1 {
			t.Errorf("got %v throttled attempts, want %d", n, passwordTries+1)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.passwordNetwork(ann, client{}.site())).Val(); ttl > passwordTriesLife || ttl < passwordTriesLife-time.Minute {
			t.Errorf("got a lifetime of %v, want %v", ttl, passwordTriesLife)
		}
		p.login(t, ann) // codes still work
	})
}

// The time of a wrong password must not reveal accounts.
func TestWrongPasswordsAlwaysCostOneHash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		p.login(t, ben)
		with := p.login(t, ann)
		if _, err := p.SetPassword(t.Context(), with.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		hashes, derive := 0, p.passwords.derive
		p.passwords.derive = func(password, salt []byte, passes, memory uint32, lanes uint8, keyLen uint32) []byte {
			hashes++
			return derive(password, salt, passes, memory, lanes, keyLen)
		}
		wrong := "wrong horse"
		for name, phone := range map[string]string{"a password": ann.E164(), "none": ben.E164(), "no account": "+8613900000009"} {
			hashes = 0
			wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: phone, Password: &wrong})), InvalidCredentials, "input.password")
			if hashes != 1 {
				t.Errorf("account with %s: got %d hashes, want 1", name, hashes)
			}
		}
	})
}

func TestStalePasswordsAreRehashed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		old := oldHash(t, "correct horse")
		p.db.User.UpdateOneID(in.User.ID).SetPasswordHash(old).ExecX(t.Context())
		password := "correct horse"
		if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password}); err != nil {
			t.Fatal(err)
		}
		now := *p.db.User.GetX(t.Context(), in.User.ID).PasswordHash
		ok, stale, err := p.passwords.verify(t.Context(), now, password)
		if now == old || !ok || stale || err != nil {
			t.Errorf("the row has %q: right %v, stale %v, %v", now, ok, stale, err)
		}
	})
}

// oldHash returns a hash of an earlier release.
func oldHash(t *testing.T, password string) string {
	t.Helper()
	h := newHasher(1, 1)
	salt := []byte("0123456789abcdef")
	c := cost{memory: 8 << 10, passes: 1, lanes: 1, saltLen: len(salt), keyLen: 32}
	key, err := h.key(t.Context(), password, salt, c)
	if err != nil {
		t.Fatal(err)
	}
	return encode(c, salt, key)
}

func TestLoginsAreLimitedByAddress(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{LoginsPerAddress: 4}), open(t, on, Config{LoginsPerAddress: 4})
		guess := "123456"
		try := func(p process, i int, from string) error {
			return errOf(p.Login(t.Context(), Credentials{Phone: fmt.Sprintf("+8613911110%03d", i), Code: &guess, From: Origin{Network: from}}))
		}
		for i := range 4 {
			wantRefusal(t, try([]process{p, q}[i%2], i, "192.0.2.1/32"), InvalidCode, "input.code")
		}
		err := try(p, 5, "192.0.2.1/32")
		f, ok := errors.AsType[*apierror.Error](err)
		if !ok || f.Kind != apierror.RateLimited || f.RetryAfter < time.Hour-time.Minute || f.RetryAfter > time.Hour {
			t.Errorf("fifth attempt: %v", err)
		}
		wantRefusal(t, try(p, 5, "192.0.2.2/32"), InvalidCode, "input.code")
		wantRefusal(t, try(p, 5, ""), InvalidCode, "input.code")
		both := errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess, Password: &guess}))
		none := errOf(p.Login(t.Context(), Credentials{Phone: ann.E164()}))
		if apierror.KindOf(both) != apierror.BadUserInput || apierror.KindOf(none) != apierror.BadUserInput {
			t.Errorf("code and password: %v; neither: %v", both, none)
		}
	})
}

func TestRolesApplyFromTheNextRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		for _, role := range []Role{Admin, Customer, Merchant} {
			roleOf(t, q.Authenticate(t.Context(), in.Token)) // caches the user
			if _, fresh, err := p.Grant(t.Context(), ann, role); err != nil || fresh {
				t.Fatalf("%v, new %v", err, fresh)
			}
			if got := roleOf(t, q.Authenticate(t.Context(), in.Token)); got != role {
				t.Errorf("got role %s, want %s", got, role)
			}
		}
		if u, fresh, err := p.Grant(t.Context(), ben, Admin); err != nil || !fresh || u.Role != Admin {
			t.Errorf("phone without an account: got %+v, new %v, %v", u, fresh, err)
		}
		if in := p.login(t, ben); in.User.Role != Admin {
			t.Errorf("got role %s at login, want %s", in.User.Role, Admin)
		}
		if _, _, err := p.Grant(t.Context(), ann, "KING"); err == nil {
			t.Error("got role KING, want an error")
		}
	})
}

// roleOf returns the role of a viewer, "" if anonymous.
func roleOf(t *testing.T, v Viewer) Role {
	t.Helper()
	user, err := v.User(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if user == nil {
		return ""
	}
	return user.Role
}

func TestRequireReturnsTheMissingPermission(t *testing.T) {
	as := func(role Role) Viewer { return new(Service).viewerOf(&User{ID: 1, Role: role}, "") }
	tests := []struct {
		viewer Viewer
		role   Role
		want   apierror.Kind // "" for no error
	}{
		{Viewer{}, Customer, apierror.Unauthenticated},
		{Viewer{unknown: storetest.ErrInjected}, Customer, apierror.Unavailable},
		{as(Customer), Customer, ""},
		{as(Customer), Merchant, apierror.Forbidden},
		{as(Merchant), Customer, ""},
		{as(Merchant), Merchant, ""},
		{as(Merchant), Admin, apierror.Forbidden},
		{as(Admin), Merchant, ""},
		{as(Admin), "", apierror.Forbidden},
		{as(""), Customer, apierror.Forbidden},
	}
	for _, tt := range tests {
		err := tt.viewer.Require(t.Context(), tt.role)
		if (err == nil) != (tt.want == "") || err != nil && apierror.KindOf(err) != tt.want {
			t.Errorf("%+v as %q: %v, want %q", tt.viewer, tt.role, err, tt.want)
		}
	}
}

func TestProfileChangesAreVisibleAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		v := p.login(t, ann).Viewer
		birthday := civil.Date{Year: 1990, Month: 2, Day: 28}
		steps := []struct {
			name    string
			changes Changes
			want    User
		}{
			{"everything", Changes{
				Nickname: optional.Set("  荷塘  Ann "), AvatarURL: optional.Set("/media/a1/b.webp"), City: optional.Set("杭州"),
				Bio: optional.Set("one\r\n\r\n\r\ntwo\u202e"), Gender: optional.Set(Female), Birthday: optional.Set(birthday),
			}, User{Nickname: "荷塘 Ann", AvatarURL: new("/media/a1/b.webp"), City: new("杭州"), Bio: new("one\n\ntwo"), Gender: Female, Birthday: &birthday}},
			{"nothing", Changes{}, User{Nickname: "荷塘 Ann", AvatarURL: new("/media/a1/b.webp"), City: new("杭州"), Bio: new("one\n\ntwo"), Gender: Female, Birthday: &birthday}},
			{"one field", Changes{City: optional.Set("Hanoi")}, User{Nickname: "荷塘 Ann", AvatarURL: new("/media/a1/b.webp"), City: new("Hanoi"), Bio: new("one\n\ntwo"), Gender: Female, Birthday: &birthday}},
			{"clear", Changes{
				AvatarURL: optional.Clear[string](), City: optional.Set("  "), Bio: optional.Clear[string](), Gender: optional.Clear[Gender](), Birthday: optional.Clear[civil.Date](),
			}, User{Nickname: "荷塘 Ann", Gender: Unspecified}},
			{"at the bounds", Changes{
				Nickname: optional.Set(strings.Repeat("塘", MaxNickname)), City: optional.Set(strings.Repeat("塘", MaxCity)), Bio: optional.Set(strings.Repeat("塘", MaxBio)),
				Birthday: optional.Set(civil.Date{Year: 1900, Month: 1, Day: 1}),
			}, User{
				Nickname: strings.Repeat("塘", MaxNickname), City: new(strings.Repeat("塘", MaxCity)), Bio: new(strings.Repeat("塘", MaxBio)),
				Gender: Unspecified, Birthday: &civil.Date{Year: 1900, Month: 1, Day: 1},
			}},
		}
		for _, step := range steps {
			if _, err := q.ByID(t.Context(), v.ID); err != nil { // caches the old profile
				t.Fatal(err)
			}
			got, err := p.UpdateProfile(t.Context(), v, step.changes)
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			want := step.want
			want.ID, want.Phone, want.Role, want.Version, want.CreatedAt = v.ID, new("139****0001"), Customer, got.Version, got.CreatedAt
			if age := time.Since(got.CreatedAt); age < 0 || age > time.Hour {
				t.Errorf("%s: got an account age of %v", step.name, age)
			}
			seen, err := q.ByID(t.Context(), v.ID)
			if err != nil {
				t.Fatal(err)
			}
			for who, u := range map[string]*User{"the answer": got, "another process": seen} {
				if d := cmp.Diff(&want, u); d != "" {
					t.Errorf("%s: %s (-want +got)\n%s", step.name, who, d)
				}
			}
		}
	})
}

func TestProfileFieldsAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		v := p.login(t, ann).Viewer
		before, _ := p.ByID(t.Context(), v.ID)
		long := func(n int) optional.Field[string] { return optional.Set(strings.Repeat("塘", n+1)) }
		tests := []struct {
			name    string
			changes Changes
			code    apierror.Code
			field   string
		}{
			{"no nickname", Changes{Nickname: optional.Clear[string]()}, apierror.InvalidInput, "input.nickname"},
			{"a blank nickname", Changes{Nickname: optional.Set(" \u200b\u200d ")}, apierror.InvalidInput, "input.nickname"},
			{"a long nickname", Changes{Nickname: long(MaxNickname)}, apierror.InvalidInput, "input.nickname"},
			{"a long city", Changes{City: long(MaxCity)}, apierror.InvalidInput, "input.city"},
			{"a long bio", Changes{Bio: long(MaxBio)}, apierror.InvalidInput, "input.bio"},
			{"a picture from elsewhere", Changes{AvatarURL: optional.Set("https://example.com/a.png")}, mediapath.Rejected, "input.avatarUrl"},
			{"a picture outside", Changes{AvatarURL: optional.Set("/media/../etc/passwd")}, mediapath.Rejected, "input.avatarUrl"},
			{"a script", Changes{AvatarURL: optional.Set("javascript:alert(1)")}, mediapath.Rejected, "input.avatarUrl"},
			{"born too early", Changes{Birthday: optional.Set(civil.Date{Year: 1899, Month: 12, Day: 31})}, apierror.InvalidInput, "input.birthday"},
			{"not born yet", Changes{Birthday: optional.Set(civil.DateOf(time.Now().UTC().AddDate(0, 0, 2)))}, apierror.InvalidInput, "input.birthday"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				wantRefusal(t, errOf(p.UpdateProfile(t.Context(), v, tt.changes)), tt.code, tt.field)
			})
		}
		all := errOf(p.UpdateProfile(t.Context(), v, Changes{Nickname: long(MaxNickname), City: long(MaxCity), Gender: optional.Set(Male)}))
		if r, _ := errors.AsType[apierror.UserErrors](all); len(r) != 2 {
			t.Errorf("two wrong fields: %v", all)
		}
		after, _ := p.ByID(t.Context(), v.ID)
		row, err := p.loadUsers(t.Context(), []int64{v.ID})
		if d := cmp.Diff(before, after) + cmp.Diff(*before, row[v.ID]); d != "" || err != nil {
			t.Errorf("profile changed (-want +got):\n%s%v", d, err)
		}
	})
}

// A change while Redis is unavailable must be visible after its return.
func TestChangesWithoutRedisAreInvalidatedLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		v := p.login(t, ann).Viewer
		if _, err := q.ByID(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		p.unavailable.Store(true)
		u, err := p.UpdateProfile(t.Context(), v, Changes{Nickname: optional.Set("Ann")})
		if err != nil || u.Nickname != "Ann" {
			t.Fatalf("%+v, %v", u, err)
		}
		if n := p.jobs(t); n != 1 {
			t.Errorf("got %d pending jobs", n)
		}
		storetest.Relay(t, q.Service.outbox) // another process reaches Redis
		testkit.Eventually(t, 10*time.Second, func() bool {
			u, err := q.ByID(t.Context(), v.ID)
			return err == nil && u.Nickname == "Ann"
		})
	})
}

func TestSyntheticUsersAreStoredOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		var drafts []Draft
		for i := range 1203 {
			drafts = append(drafts, Draft{ExternalID: fmt.Sprintf("seed:1:%d", i), Nickname: fmt.Sprint("n", i), Role: Roles()[i%3], City: []string{"", "Hanoi"}[i%2]})
		}
		progress := 0
		ids, err := p.BulkInsert(t.Context(), drafts[:700], func(n int) { progress = n })
		if err != nil || len(ids) != 700 || progress != 700 {
			t.Fatalf("%d ids, %v, progress %d", len(ids), err, progress)
		}
		again, err := p.BulkInsert(t.Context(), drafts, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ids, again[:700]); d != "" {
			t.Errorf("second call returned other ids (-want +got):\n%s", d)
		}
		users, err := p.ByIDs(t.Context(), again)
		if err != nil || len(users) != len(drafts) {
			t.Fatalf("%d users, %v", len(users), err)
		}
		for i, id := range again {
			if u := users[id]; u.Nickname != drafts[i].Nickname || u.Role != drafts[i].Role || optional.Value(u.City) != drafts[i].City || u.Phone != nil {
				t.Errorf("user %d is %+v", i, u)
			}
		}
		tokens, err := p.CreateSessions(t.Context(), again)
		if err != nil || len(tokens) != len(again) {
			t.Fatalf("%d tokens, %v", len(tokens), err)
		}
		for _, i := range []int{0, 499, 500, 1202} {
			if v := p.Authenticate(t.Context(), tokens[i]); v.ID != again[i] || roleOf(t, v) != drafts[i].Role {
				t.Errorf("token %d: got viewer %+v", i, v)
			}
		}
	})
}

func TestWaitsInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1 second", time.Minute: "1 minute", time.Hour: "1 hour", 119 * time.Minute: "119 minutes", 43500 * time.Millisecond: "44 seconds", 119 * time.Second: "119 seconds", 2 * time.Minute: "2 minutes",
		2*time.Minute + 1: "3 minutes", 15 * time.Minute: "15 minutes", 23*time.Hour + time.Second: "24 hours",
	} {
		if got := inWords(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
