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

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/e164"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

const (
	codeLife    = 5 * time.Minute
	codePause   = time.Minute // between two codes for one phone
	codesPerDay = 10          // for one phone
	codeTries   = 5           // guesses at one code
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

// SendCode sends a login code to a phone, whether it has an account or not, and
// says how long the code is good for. The address is that of the client, or ""
// if it is not known; limits count by it.
//
// What the user can mend is [fault.UserErrors]: no phone, a country that gets no
// codes, or too many codes; what is refused does not count as a code. Without
// a sender, and when it or Redis fails, the fault is UNAVAILABLE.
func (s *Service) SendCode(ctx context.Context, phone, address string) (life time.Duration, err error) {
	ctx, span := observe.Span(ctx, "account.SendCode")
	defer span.End()
	p, err := ParsePhone(phone)
	if err != nil {
		return 0, refusePhone("phone")
	}
	if s.codes.sender == nil {
		return 0, fault.New(fault.Unavailable, "This server sends no login codes.")
	}
	if !s.codes.reaches(p) {
		s.codes.refused.WithLabelValues(byCountry).Inc()
		return 0, fault.Refuse(InvalidPhone, "This server sends no codes to phones of this country.", "phone")
	}
	outcome, err := s.codes.send(ctx, s.log, p, address)
	s.codes.sent.WithLabelValues(outcome).Inc()
	return codeLife, err
}

func refusePhone(field ...string) fault.UserErrors {
	return fault.Refuse(InvalidPhone, "This is no phone number. Write it with its country code, or as eleven digits in mainland China.", field...)
}

// codes are the login codes under way. They live in the state Redis alone.
type codes struct {
	rdb        redis.UniversalClient
	keys       keys
	limits     *limits
	sender     Sender
	perAddress int
	perHour    int      // 0 is no limit
	countries  []string // calling codes; all if empty
	demo       bool     // whether demo accounts get codes
	sent       *prometheus.CounterVec
	delivered  *prometheus.CounterVec
	refused    *prometheus.CounterVec
	full       clock.Seldom // when the limit of the installation was logged

	reserve, release, store, withdraw, try, use *redis.Script
}

// Reasons of refusals, as the metric names them.
const (
	byCountry      = "country"
	byAddress      = "address"
	byPhone        = "phone"
	byInstallation = "installation"
)

func newCodes(rdb redis.UniversalClient, k keys, l *limits, cfg Config) *codes {
	c := &codes{
		rdb: rdb, keys: k, limits: l, sender: cfg.Sender, perAddress: cfg.CodesPerAddress,
		perHour: cfg.CodesPerHour, countries: cfg.CodeCountries, demo: cfg.DemoPhones, full: clock.Seldom{Every: time.Minute},
		reserve: redis.NewScript(codeReserveLua), release: redis.NewScript(codeReleaseLua),
		store: redis.NewScript(codeStoreLua), withdraw: redis.NewScript(codeWithdrawLua),
		try: redis.NewScript(codeTryLua), use: redis.NewScript(codeUseLua),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_login_codes_total", Help: "Login codes that were asked for, by outcome.",
		}, []string{"outcome"}),
		delivered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_login_codes_sent_total", Help: "Login codes handed to the sender, by calling code of the phone.",
		}, []string{"calling_code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_login_code_refusals_total", Help: "Login codes refused by a limit, by what it counts.",
		}, []string{"reason"}),
	}
	for _, outcome := range []string{"sent", "throttled", "failed"} {
		c.sent.WithLabelValues(outcome)
	}
	for _, reason := range []string{byCountry, byAddress, byPhone, byInstallation} {
		c.refused.WithLabelValues(reason)
	}
	return c
}

// reaches reports whether codes may be sent to p. Demo accounts get them where
// sending costs nothing.
func (c *codes) reaches(p Phone) bool {
	if p.demo() {
		return c.demo
	}
	return len(c.countries) == 0 || slices.Contains(c.countries, p.callingCode())
}

// send makes a code, stores it and sends it. The code is stored first: a quick
// user must find it. All limits are asked before, so a refusal leaves the phone
// the code that it has. The limit of the installation comes last: what another
// one refuses takes nothing from it, not even for a moment.
func (c *codes) send(ctx context.Context, log *slog.Logger, p Phone, address string) (outcome string, err error) {
	wait, err := c.limits.takeByAddress(ctx, c.keys.codeAddress, address, c.perAddress)
	if err != nil {
		return "failed", err
	}
	if wait > 0 {
		c.refused.WithLabelValues(byAddress).Inc()
		return "throttled", throttled("Too many codes were asked for from your network.", wait)
	}
	turn, limited := rand.Text(), []string{c.keys.codePause(p), c.keys.codeDay(p)}
	wait, err = waitOf(runScript(ctx, c.rdb, c.reserve, limited, turn, codePause.Milliseconds(), codesPerDay, day.Milliseconds()))
	if err != nil {
		return "failed", err
	}
	if wait > 0 {
		c.refused.WithLabelValues(byPhone).Inc()
		return "throttled", throttled("This phone was sent a code already.", wait)
	}
	if wait, err = c.takeHour(ctx); err != nil || wait > 0 {
		c.giveBackTurn(ctx, log, limited, turn)
		if err != nil {
			return "failed", err
		}
		if address != "" && c.perAddress > 0 {
			c.limits.giveBack(ctx, c.keys.codeAddress(address))
		}
		c.refused.WithLabelValues(byInstallation).Inc()
		if c.full.Due() {
			log.WarnContext(ctx, "login code limit reached", "hint", "see --codes-per-hour and --code-countries")
		}
		return "throttled", throttled("This server has sent too many codes.", wait)
	}
	code := newCode()
	if err := runScript(ctx, c.rdb, c.store, []string{c.keys.code(p)}, code, codeLife.Milliseconds()).Err(); err != nil {
		c.giveBackTurn(ctx, log, limited, turn)
		c.giveBackHour(ctx)
		return "failed", withoutRedis(err)
	}
	err = c.sender.Send(ctx, p, code, codeLife)
	if err == nil {
		c.delivered.WithLabelValues(cmp.Or(p.callingCode(), "demo")).Inc()
		return "sent", nil
	}
	if !errors.Is(err, ErrNotSent) {
		// It stays good, and counts: whoever could make the sender fail would
		// otherwise have a phone flooded.
		return "failed", fault.New(fault.Unavailable, "The code may not arrive. Try again in a minute.").In(codePause).Because(err)
	}
	// Not with a context that may be what ended the sending.
	_, errBack := runScript(context.WithoutCancel(ctx), c.rdb, c.withdraw, append([]string{c.keys.code(p)}, limited...), code).Int()
	if errBack != nil {
		log.WarnContext(ctx, "a code that was not sent is not withdrawn; the phone has to wait", "err", errBack)
	}
	c.giveBackHour(ctx)
	return "failed", fault.New(fault.Unavailable, "The code could not be sent. Try again later.").Because(err)
}

// takeHour counts one more code of the installation, unless it is one too many.
func (c *codes) takeHour(ctx context.Context) (wait time.Duration, err error) {
	if c.perHour == 0 {
		return 0, nil
	}
	return c.limits.take(ctx, c.keys.codeHour(), c.perHour, time.Hour)
}

func (c *codes) giveBackHour(ctx context.Context) {
	if c.perHour > 0 {
		c.limits.giveBack(ctx, c.keys.codeHour())
	}
}

// giveBackTurn lets a phone have another code at once. A failure makes it wait.
func (c *codes) giveBackTurn(ctx context.Context, log *slog.Logger, limited []string, turn string) {
	if err := runScript(context.WithoutCancel(ctx), c.rdb, c.release, limited, turn).Err(); err != nil {
		log.WarnContext(ctx, "cannot release login code limit", "err", err)
	}
}

func throttled(what string, wait time.Duration) fault.UserErrors {
	return fault.Refuse(CodeThrottled, what+" Try again in "+inWords(wait)+".", "phone")
}

// inWords is a wait as people say it, rounded up.
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

// verdict is what became of a guess.
type verdict string

const (
	right verdict = "ok"
	wrong verdict = "wrong"
	dead  verdict = "dead" // no code to guess: none was sent, it is too old, used, or guessed at too often
)

// guess compares a code with that of a phone, and uses it up if it is right.
// Two round trips: the comparison, in constant time, is between them.
func (c *codes) guess(ctx context.Context, p Phone, code string) (verdict, error) {
	kept, err := runScript(ctx, c.rdb, c.try, []string{c.keys.code(p)}, codeTries).Result()
	if err != nil {
		return "", withoutRedis(err)
	}
	want, ok := kept.(string)
	if !ok {
		return dead, nil
	}
	if subtle.ConstantTimeCompare([]byte(want), []byte(code)) != 1 {
		return wrong, nil
	}
	used, err := runScript(ctx, c.rdb, c.use, []string{c.keys.code(p)}, code).Int()
	if err != nil {
		return "", withoutRedis(err)
	}
	if used == 0 {
		return dead, nil
	}
	return right, nil
}

// readCode returns the six digits of a code as people write it, or false for what
// can be no code.
func readCode(s string) (code string, ok bool) {
	if len(s) > maxPhoneInput {
		return "", false
	}
	code, ok = e164.Digits(s)
	return code, ok && len(code) == codeDigits
}

// newCode is six digits, each number as likely as the others.
func newCode() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		panic(errors.Join(errors.New("account: no randomness"), err)) // crypto/rand ends the process first
	}
	return fmt.Sprintf("%06d", n)
}
