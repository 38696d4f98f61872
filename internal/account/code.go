package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/e164"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

const (
	codeLife    = 5 * time.Minute
	codePause   = time.Minute // between two codes for one phone
	codesPerDay = 10          // per phone and network or known device
	codesInAll  = 20          // per phone and day, from all networks
	codeTries   = 5           // guesses per code and network or known device
	codeTotal   = 20          // guesses per code, from all networks
	guessesADay = 60          // guesses per phone and day, from all networks
	codeDigits  = 6
	day         = 24 * time.Hour
)

var (
	//go:embed lua/code_reserve.lua
	codeReserveLua string
	//go:embed lua/code_release.lua
	codeReleaseLua string
	//go:embed lua/code_store.lua
	codeStoreLua string
	//go:embed lua/code_withdraw.lua
	codeWithdrawLua string
	//go:embed lua/code_try.lua
	codeTryLua string
	//go:embed lua/code_use.lua
	codeUseLua string
)

// SendCode sends a login code to a phone, with or without an account, and returns the
// lifetime of the code. A known device has its own limits and its own code.
//
// It returns an [apierror.UserErrors] for an invalid phone, a country that gets no
// codes, and too many codes. A request that the limits of the phone reject counts for its
// network; other rejected requests do not count. It returns UNAVAILABLE without a sender,
// and if the sender or Redis fails.
func (s *Service) SendCode(ctx context.Context, phone string, from Origin) (life time.Duration, err error) {
	ctx, span := observe.Span(ctx, "account.SendCode")
	defer span.End()
	p, legacy, err := readPhone(phone)
	if err != nil {
		return 0, refusePhone("phone")
	}
	if s.codes.sender == nil {
		return 0, apierror.New(apierror.Unavailable, "This server doesn't send login codes.")
	}
	if !s.codes.reaches(p) {
		s.codes.refused.WithLabelValues(byCountry).Inc()
		return 0, apierror.Refuse(InvalidPhone, "This server doesn't send codes to phones in this country.", "phone")
	}
	outcome, err := s.codes.send(ctx, s.cfg.Log, p, s.client(ctx, p, legacy, from))
	s.codes.sent.WithLabelValues(outcome).Inc()
	return codeLife, err
}

func refusePhone(field ...string) apierror.UserErrors {
	return apierror.Refuse(InvalidPhone, "This is not a valid phone number. Include the country code, or enter 11 digits for mainland China.", field...)
}

// codes sends and checks login codes. They are in Redis only.
type codes struct {
	rdb            redis.Cmdable
	keys           keys
	limits         *limits
	sender         Sender
	perAddress     int
	perHour        int      // 0 is unlimited
	countries      []string // calling codes; all if empty
	demo           bool     // send codes to demo accounts
	sent           *prometheus.CounterVec
	delivered      *prometheus.CounterVec
	refused        *prometheus.CounterVec
	guesses        int                // wrong codes per hour in all processes; 0 is unlimited
	guessesRefused prometheus.Counter // guesses rejected by that limit
	full           clock.Throttle     // limits the log of the installation limit

	reserve, release, store, withdraw, try, use *redis.Script
}

// Values of the label reason.
const (
	byCountry      = "country"
	byAddress      = "address"
	byPhone        = "phone"
	byInstallation = "installation"
)

func newCodes(rdb redis.Cmdable, k keys, l *limits, cfg Config) *codes {
	c := &codes{
		rdb: rdb, keys: k, limits: l, sender: cfg.Sender, perAddress: cfg.CodesPerAddress,
		perHour: cfg.CodesPerHour, guesses: cfg.WrongCodesPerHour, countries: cfg.CodeCountries, demo: cfg.DemoPhones, full: clock.Throttle{Every: time.Minute},
		reserve: redis.NewScript(codeReserveLua), release: redis.NewScript(codeReleaseLua),
		store: redis.NewScript(codeStoreLua), withdraw: redis.NewScript(codeWithdrawLua),
		try: redis.NewScript(codeTryLua), use: redis.NewScript(codeUseLua),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_login_codes_total", Help: "Requested login codes, by outcome.",
		}, []string{"outcome"}),
		delivered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_login_codes_sent_total", Help: "Login codes handed to the sender, by calling code.",
		}, []string{"calling_code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_login_code_refusals_total", Help: "Login code requests rejected by a limit, by kind of limit.",
		}, []string{"reason"}),
		guessesRefused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tandian_login_guesses_refused_total", Help: "Login code guesses rejected by the hourly limit of wrong codes.",
		}),
	}
	for _, outcome := range []string{"sent", "throttled", "failed"} {
		c.sent.WithLabelValues(outcome)
	}
	for _, reason := range []string{byCountry, byAddress, byPhone, byInstallation} {
		c.refused.WithLabelValues(reason)
	}
	return c
}

// reaches reports whether codes may be sent to p.
func (c *codes) reaches(p Phone) bool {
	if p.demo() {
		return c.demo
	}
	return len(c.countries) == 0 || slices.Contains(c.countries, p.callingCode())
}

// A reservation is the right to send one code to a phone.
type reservation struct {
	keys   []string // the pause, then counters
	limits []any    // limits of the counters
	name   string
}

func (c *codes) reservationFor(p Phone, by client) reservation {
	t := reservation{[]string{c.keys.codePause(p, by.device.id), c.keys.codeDay(p, by.device.id)}, []any{codesPerDay}, rand.Text()}
	if by.device.id == 0 {
		t.keys, t.limits = append(t.keys, c.keys.codeNetworkDay(p, by.site())), []any{codesInAll, codesPerDay}
	}
	return t
}

// send creates a code, stores it and sends it. It stores the code first, so that a
// fast user finds it. It checks the limits before that, so a rejection leaves the current
// code of the phone valid. The limit of the installation comes last, so a rejection by
// another limit does not count there. The limit of a network does not bind a known device.
func (c *codes) send(ctx context.Context, log *slog.Logger, p Phone, by client) (outcome string, err error) {
	var network []limit
	if by.device.id == 0 {
		network = hourly(c.keys.codeAddress, by.network, c.perAddress)
	}
	wait, err := c.limits.take(ctx, network...)
	if err != nil {
		return "failed", err
	}
	if wait > 0 {
		c.refused.WithLabelValues(byAddress).Inc()
		return "throttled", throttled("Your network has requested too many codes.", wait)
	}
	t := c.reservationFor(p, by)
	args := append([]any{t.name, codePause.Milliseconds(), day.Milliseconds()}, t.limits...)
	wait, err = waitOf(runScript(ctx, c.rdb, c.reserve, t.keys, args...))
	if err != nil {
		return "failed", err
	}
	if wait > 0 {
		c.refused.WithLabelValues(byPhone).Inc()
		return "throttled", throttled("A code was sent to this phone recently.", wait)
	}
	if wait, err = c.takeHour(ctx); err != nil || wait > 0 {
		c.releaseReservation(ctx, log, t)
		if err != nil {
			return "failed", err
		}
		c.limits.refund(ctx, network...)
		c.refused.WithLabelValues(byInstallation).Inc()
		if c.full.Allow() {
			log.WarnContext(ctx, "login code limit reached", "hint", "see --codes-per-hour and --code-countries")
		}
		return "throttled", throttled("The server has sent too many codes.", wait)
	}
	return c.deliver(ctx, log, p, by, t)
}

func (c *codes) deliver(ctx context.Context, log *slog.Logger, p Phone, by client, t reservation) (outcome string, err error) {
	slot := c.keys.code(p, by.device.id)
	code := newCode()
	if err := runScript(ctx, c.rdb, c.store, []string{slot}, code, codeLife.Milliseconds()).Err(); err != nil {
		c.releaseReservation(ctx, log, t)
		c.refundHour(ctx)
		return "failed", withoutRedis(err)
	}
	err = c.sender.Send(ctx, p, code, codeLife)
	if err == nil {
		c.delivered.WithLabelValues(cmp.Or(p.callingCode(), "demo")).Inc()
		return "sent", nil
	}
	if !errors.Is(err, ErrNotSent) {
		// The code stays valid and counts: otherwise a client that can make the
		// sender fail could flood a phone.
		return "failed", apierror.New(apierror.Unavailable, "The code may not arrive. Try again in a minute.").WithRetryAfter(codePause).WithCause(err)
	}
	// The end of ctx may have stopped the sender, so the withdrawal ignores it.
	_, errBack := runScript(context.WithoutCancel(ctx), c.rdb, c.withdraw, append([]string{slot}, t.keys...), code).Int()
	if errBack != nil {
		log.WarnContext(ctx, "cannot withdraw unsent login code", "hint", "the phone must wait for its next code", "err", errBack)
	}
	c.refundHour(ctx)
	return "failed", apierror.New(apierror.Unavailable, "The code could not be sent. Try again later.").WithCause(err)
}

// takeHour counts one code of the installation. If the limit is reached, it returns the wait.
func (c *codes) takeHour(ctx context.Context) (wait time.Duration, err error) {
	if c.perHour == 0 {
		return 0, nil
	}
	return c.limits.take(ctx, c.hour())
}

func (c *codes) refundHour(ctx context.Context) {
	if c.perHour > 0 {
		c.limits.refund(ctx, c.hour())
	}
}

func (c *codes) hour() limit { return limit{c.keys.codeHour(), c.perHour, time.Hour} }

// releaseReservation lets the phone request another code at once. After an error the
// phone must wait.
func (c *codes) releaseReservation(ctx context.Context, log *slog.Logger, t reservation) {
	if err := runScript(context.WithoutCancel(ctx), c.rdb, c.release, t.keys, t.name).Err(); err != nil {
		log.WarnContext(ctx, "cannot release login code limit", "err", err)
	}
}

func throttled(what string, wait time.Duration) apierror.UserErrors {
	return apierror.UserErrors{{Code: CodeThrottled, Message: what + " Try again in " + inWords(wait) + ".", Field: []string{"phone"}, RetryAfter: wait}}
}

// inWords returns a wait in words, rounded up, such as "2 minutes".
func inWords(d time.Duration) string {
	unit, name := time.Second, "second"
	switch {
	case d >= 2*time.Hour || d == time.Hour:
		unit, name = time.Hour, "hour"
	case d >= 2*time.Minute || d == time.Minute:
		unit, name = time.Minute, "minute"
	}
	n := max((d+unit-1)/unit, 1)
	if n > 1 {
		name += "s"
	}
	return fmt.Sprintf("%d %s", n, name)
}

type verdict string

const (
	right verdict = "ok"
	wrong verdict = "wrong"
	dead  verdict = "dead" // no valid code: none sent, expired, used, or too many guesses
)

// guess compares a code with that of a phone and consumes it if it is right. Its time
// does not depend on whether there is a code. The comparison, in constant time, runs
// between two scripts.
//
// Wrong guesses also count for the installation, except those of known devices. Once
// that limit is reached, guess compares nothing and returns the time to wait; the guess
// does not count as a try. Concurrent guesses may exceed this limit before they are
// counted. The limits of the phone are exact.
func (c *codes) guess(ctx context.Context, p Phone, by client, code string) (v verdict, wait time.Duration, err error) {
	if wait, err = c.guessLimit(ctx, by, c.limits.full); err != nil || wait > 0 {
		return "", wait, err
	}
	slots := []string{c.keys.code(p, 0), c.keys.codeGuesses(p)}
	if by.device.id != 0 {
		slots = append(slots, c.keys.code(p, by.device.id))
	}
	stored, err := runScript(ctx, c.rdb, c.try, slots, by.name(), codeTries, codeTotal, guessesADay, day.Milliseconds()).Result()
	if err != nil {
		return "", 0, withoutRedis(err)
	}
	v = dead
	if want, ok := stored.(string); ok {
		v = wrong
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			v = right
		}
	}
	if v != right {
		use := c.limits.full // equal time for dead and wrong codes
		if v == wrong {
			use = c.limits.take
		}
		wait, err = c.guessLimit(ctx, by, use)
		return v, wait, err
	}
	used, err := runScript(ctx, c.rdb, c.use, slots, code).Int()
	if err != nil {
		return "", 0, withoutRedis(err)
	}
	if used == 0 {
		return dead, 0, nil
	}
	return right, 0, nil
}

// guessLimit takes or reads the installation's limit of wrong guesses. It returns the wait, if any.
func (c *codes) guessLimit(ctx context.Context, by client, use func(context.Context, ...limit) (time.Duration, error)) (wait time.Duration, err error) {
	if by.device.id != 0 || c.guesses == 0 {
		return 0, nil
	}
	if wait, err = use(ctx, limit{c.keys.guessHour(), c.guesses, time.Hour}); wait > 0 {
		c.guessesRefused.Inc()
	}
	return wait, err
}

// readCode parses a code, in any spelling of its six digits.
func readCode(s string) (code string, ok bool) {
	if len(s) > maxPhoneInput {
		return "", false
	}
	code, ok = e164.Digits(s)
	return code, ok && len(code) == codeDigits
}

func newCode() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		panic(errors.Join(errors.New("account: no randomness"), err)) // crypto/rand ends the process first
	}
	return fmt.Sprintf("%06d", n)
}
