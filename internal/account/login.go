package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Credentials are a phone and either its login code or its password.
type Credentials struct {
	Phone    string
	Code     *string
	Password *string
	From     Origin
}

// A Login is a new session.
type Login struct {
	Token       string // not stored, so it cannot be read again
	DeviceToken string // replaces [Origin.Device]; "" if the client cannot store it
	User        *User
	Viewer      Viewer // for the rest of the request
}

// Login begins a session. A code creates an account for a new phone, as a customer; a
// password does not.
//
// It returns an [apierror.UserErrors] for an invalid phone, for a wrong code or password,
// and for a right one after too many wrong ones. It returns RATE_LIMITED after too many
// attempts from one network, or too many wrong codes in all processes. A device that has
// logged in to this phone has its own limits.
//
// It makes several round trips to Redis and a few statements, in sequence: each decides
// whether the next one is needed.
func (s *Service) Login(ctx context.Context, c Credentials) (*Login, error) {
	ctx, span := observe.Span(ctx, "account.Login")
	defer span.End()
	method := "code"
	if c.Password != nil {
		method = "password"
	}
	if (c.Code == nil) == (c.Password == nil) {
		return nil, apierror.BadInput("Enter either a code or a password.")
	}
	login, outcome, err := s.login(sqldb.Prepared(ctx), c)
	s.logins.WithLabelValues(method, outcome).Inc()
	return login, err
}

func (s *Service) login(ctx context.Context, c Credentials) (login *Login, outcome string, err error) {
	p, legacy, invalid := readPhone(c.Phone)
	if invalid != nil {
		p = legacy // an account of an earlier version may use its password, but gets no code
	}
	by := s.client(ctx, p, legacy, c.From)
	if err := s.takeAttempt(ctx, by); err != nil {
		return nil, outcomeOf(err), err
	}
	if invalid != nil && (c.Code != nil || legacy == "") {
		return nil, "invalid", refusePhone("input", "phone")
	}
	var row *ent.User
	var verified *string // the hash of the right password
	stale := false
	if c.Code != nil {
		row, outcome, err = s.byCode(ctx, p, legacy, by, *c.Code)
	} else if row, stale, outcome, err = s.byPassword(ctx, p, by, *c.Password, func(ctx context.Context) (*ent.User, error) {
		return s.byPhone(ctx, p, legacy)
	}, "input", "password"); err == nil {
		verified = row.PasswordHash
	}
	if err != nil {
		return nil, outcome, err
	}
	started, err := s.sessions.begin(ctx, loginSpec{row.ID, verified, by.device, c.From})
	if errors.Is(err, errPasswordChanged) {
		return nil, "wrong", wrongPassword("input", "password")
	}
	if err != nil {
		return nil, "failed", fmt.Errorf("log in: %w", err)
	}
	if stale {
		s.rehash(ctx, started.row, *c.Password)
	}
	u := fromRow(started.row)
	return &Login{started.token, s.devices.token(p, started.device), u, s.viewerOf(u, started.id)}, "ok", nil
}

// takeAttempt counts an attempt for the client's network. It does not limit a known device.
func (s *Service) takeAttempt(ctx context.Context, by client) error {
	if by.device.id != 0 {
		return nil
	}
	wait, err := s.limits.take(ctx, hourly(s.keys.loginAddress, by.network, s.cfg.LoginsPerAddress)...)
	if err == nil && wait > 0 {
		err = tooOften(wait, "Too many sign-in attempts from your network. Try again later.")
	}
	return err
}

func outcomeOf(err error) string {
	if apierror.KindOf(err) == apierror.RateLimited {
		return "throttled"
	}
	return "failed"
}

// byCode checks a code and returns the account, which it creates for a new phone.
func (s *Service) byCode(ctx context.Context, p, legacy Phone, by client, text string) (row *ent.User, outcome string, err error) {
	if outcome, err = s.guess(ctx, p, by, text, "input", "code"); err != nil {
		return nil, outcome, err
	}
	row, fresh, err := s.register(ctx, p, legacy)
	if err != nil {
		return nil, "failed", fmt.Errorf("log in by code: %w", err)
	}
	if fresh {
		s.cfg.Log.InfoContext(ctx, "new user", "user", row.ID)
	}
	return row, "ok", nil
}

// guess consumes a right code. Text that cannot be a code does not count as a guess. The
// error for a wrong code does not depend on whether the phone has a code.
func (s *Service) guess(ctx context.Context, p Phone, by client, text string, field ...string) (outcome string, err error) {
	code, ok := readCode(text)
	if !ok {
		return "invalid", apierror.Refuse(InvalidCode, "Enter the six-digit code.", field...)
	}
	v, wait, err := s.codes.guess(ctx, p, by, code)
	switch {
	case err != nil:
		return "failed", err
	case wait > 0:
		return "throttled", tooOften(wait, "Too many wrong codes were entered. Sign in with your password, or try again later.")
	case v != right:
		return string(v), apierror.Refuse(InvalidCode, "This code is wrong or has expired. Try again, or request a new one.", field...)
	}
	return "ok", nil
}

func (s *Service) passwordLimits(p Phone, by client) []limit {
	if by.device.id != 0 {
		return []limit{{s.keys.passwordDevice(p, by.device.id), passwordTries, passwordTriesLife}}
	}
	return []limit{
		{s.keys.passwordNetwork(p, by.site()), passwordTries, passwordTriesLife},
		{s.keys.passwordTries(p), phoneTries, phoneTriesLife},
	}
}

// byPassword verifies a password. stale reports whether it needs a new hash. A missing account or
// password takes the time of a wrong password, so that the time does not reveal accounts.
func (s *Service) byPassword(ctx context.Context, p Phone, by client, password string, find func(context.Context) (*ent.User, error), field ...string) (row *ent.User, stale bool, outcome string, err error) {
	tries := s.passwordLimits(p, by)
	wait, err := s.limits.take(ctx, tries...)
	if err != nil {
		return nil, false, "failed", err
	}
	if wait > 0 {
		return nil, false, "throttled", apierror.Refuse(InvalidCredentials,
			"Too many wrong passwords. Use a code, or try again in "+inWords(wait)+".", field...)
	}
	ok := false
	if row, err = find(ctx); err == nil {
		if row != nil && row.PasswordHash != nil {
			ok, stale, err = s.passwords.verify(ctx, *row.PasswordHash, password)
		} else {
			err = s.passwords.waste(ctx, password)
		}
	}
	switch {
	case err != nil: // nothing was compared
		s.limits.refund(ctx, tries...)
		return nil, false, "failed", fmt.Errorf("compare password: %w", err)
	case !ok:
		return nil, false, "wrong", wrongPassword(field...)
	}
	s.limits.forgive(ctx, tries...)
	return row, stale, "ok", nil
}

func wrongPassword(field ...string) apierror.UserErrors {
	if field[len(field)-1] == "currentPassword" {
		return apierror.Refuse(InvalidCredentials, "The current password is wrong.", field...)
	}
	return apierror.Refuse(InvalidCredentials, "The phone number or the password is wrong.", field...)
}

// rehash stores a right password with a hash of the current cost. After an error, the
// next login tries it again.
func (s *Service) rehash(ctx context.Context, row *ent.User, password string) {
	hash, err := s.passwords.hash(ctx, password)
	if err == nil {
		// The password may have changed since it was verified.
		err = s.db.User.Update().Where(entuser.ID(row.ID), entuser.PasswordHash(*row.PasswordHash)).SetPasswordHash(hash).Exec(ctx)
	}
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "cannot upgrade password hash", "user", row.ID, "err", err)
	}
}

// A PasswordChange is a new password, with either the current password or a login code.
type PasswordChange struct {
	Password string
	Current  *string
	Code     *string
	From     Origin
}

// SetPassword sets or changes the viewer's password. It ends the viewer's other sessions
// and removes the other devices. The session alone does not suffice: the change needs the
// current password, or a login code for the viewer's phone.
//
// It returns an [apierror.UserErrors] for a weak password and a wrong proof. Attempts
// count like those of [Service.Login]. It returns RATE_LIMITED at the eleventh change in
// an hour, and UNAUTHENTICATED if the viewer's session has ended meanwhile.
func (s *Service) SetPassword(ctx context.Context, v Viewer, c PasswordChange) (*User, error) {
	ctx, span := observe.Span(ctx, "account.SetPassword")
	defer span.End()
	if c.Current != nil && c.Code != nil {
		return nil, apierror.BadInput("Enter either the current password or a code.")
	}
	row, err := s.db.User.Get(ctx, v.ID)
	if err != nil {
		return nil, fmt.Errorf("select user %d: %w", v.ID, err)
	}
	password, reason := checkPassword(c.Password, Phone(optional.Value(row.Phone)))
	if reason != "" {
		return nil, apierror.Refuse(apierror.InvalidInput, reason, "password")
	}
	verified, err := s.prove(ctx, row, c)
	if err != nil {
		return nil, err
	}
	wait, err := s.limits.take(ctx, limit{s.keys.passwordSets(v.ID), passwordSets, time.Hour})
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		return nil, tooOften(wait, "You changed your password too often. Try again later.")
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return nil, fmt.Errorf("set the password of user %d: %w", v.ID, err)
	}
	row, err = s.sessions.replacePassword(ctx, v, verified, hash)
	if errors.Is(err, errPasswordChanged) {
		return nil, wrongPassword("currentPassword")
	}
	if err != nil {
		return nil, fmt.Errorf("set the password of user %d: %w", v.ID, err)
	}
	return fromRow(row), nil
}

// prove checks the current password or the code of a change. It returns the hash of the
// right password, or nil after a code.
func (s *Service) prove(ctx context.Context, row *ent.User, c PasswordChange) (verified *string, err error) {
	switch {
	case row.Phone == nil:
		return nil, apierror.Refuse(InvalidPhone, "Your account has no phone number, so you can't set a password.")
	case row.PasswordHash == nil && c.Code == nil:
		return nil, apierror.Refuse(InvalidCode, "You have no password yet. Enter a login code sent to your phone.", "code")
	case c.Current == nil && c.Code == nil:
		return nil, apierror.Refuse(InvalidCredentials, "Enter the current password, or a login code.", "currentPassword")
	}
	p, legacy, err := readPhone(*row.Phone)
	if err != nil {
		p = Phone(*row.Phone)
	}
	by := s.client(ctx, p, legacy, c.From)
	method := "code"
	if c.Code == nil {
		method, verified = "password", row.PasswordHash
	}
	var outcome string
	if err = s.takeAttempt(ctx, by); err != nil {
		outcome = outcomeOf(err)
	} else if c.Code != nil {
		outcome, err = s.guess(ctx, p, by, *c.Code, "code")
	} else {
		_, _, outcome, err = s.byPassword(ctx, p, by, *c.Current, func(context.Context) (*ent.User, error) { return row, nil }, "currentPassword")
	}
	if err != nil { // a right proof is not a login
		s.logins.WithLabelValues(method, outcome).Inc()
	}
	return verified, err
}

// replacePassword stores a password hash, ends all sessions of the user except the
// viewer's, and deletes all devices except that session's. The viewer's session must be
// live: a stolen session that was ended must not set another password. A verified hash
// must still be the user's.
func (s *sessions) replacePassword(ctx context.Context, v Viewer, verified *string, hash string) (row *ent.User, err error) {
	err = s.endOthers(ctx, v, func(ctx context.Context, tx *ent.Tx, is *ent.User) (err error) {
		if verified != nil && optional.Value(is.PasswordHash) != *verified {
			return errPasswordChanged
		}
		if row, err = tx.User.UpdateOneID(v.ID).SetPasswordHash(hash).Save(ctx); err != nil {
			return fmt.Errorf("update user: %w", err)
		}
		return nil
	})
	return row, err
}
