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

// Credentials are a phone and either the code that was sent to it or its password.
type Credentials struct {
	Phone    string
	Code     *string
	Password *string
	From     Origin
}

// A Login is a session that has begun.
type Login struct {
	Token       string // shown this once
	DeviceToken string // for [Origin.Device] from now on; "" if the client cannot keep it
	User        *User
	Viewer      Viewer // of the rest of the request
}

// Login begins a session. A code registers a phone that has no account yet, as a
// customer; a password does not. A wrong code or password is a [fault.UserErrors], and
// so is a right one after too many wrong ones. Too many attempts from one network are
// RATE_LIMITED. A device that has signed in to this phone has limits of its own.
//
// It makes several round trips to Redis and a few statements, one after the other,
// because each decides whether the next one happens.
func (s *Service) Login(ctx context.Context, c Credentials) (*Login, error) {
	ctx, span := observe.Span(ctx, "account.Login")
	defer span.End()
	method := "code"
	if c.Password != nil {
		method = "password"
	}
	if (c.Code == nil) == (c.Password == nil) {
		return nil, apierror.BadInput("give either a code or a password")
	}
	login, outcome, err := s.login(sqldb.Prepared(ctx), c)
	s.logins.WithLabelValues(method, outcome).Inc()
	return login, err
}

func (s *Service) login(ctx context.Context, c Credentials) (login *Login, outcome string, err error) {
	p, legacy, invalid := readPhone(c.Phone)
	if invalid != nil {
		p = legacy // an account of an earlier version keeps its password, though it gets no code any more
	}
	by := s.client(ctx, p, legacy, c.From)
	if err := s.takeAttempt(ctx, by); err != nil {
		return nil, outcomeOf(err), err
	}
	if invalid != nil && (c.Code != nil || legacy == "") {
		return nil, "invalid", refusePhone("input", "phone")
	}
	var row *ent.User
	var verified *string // the hash of the password that was right
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

// takeAttempt counts an attempt at a code or a password for the client's network. It
// does not bind a known device.
func (s *Service) takeAttempt(ctx context.Context, by client) error {
	if by.device.id != 0 {
		return nil
	}
	wait, err := s.limits.take(ctx, hourly(s.keys.loginAddress, by.network, s.cfg.LoginsPerAddress)...)
	if err == nil && wait > 0 {
		err = tooOften(wait, "There were too many tries to log in from your network.")
	}
	return err
}

func outcomeOf(err error) string {
	if apierror.KindOf(err) == apierror.RateLimited {
		return "throttled"
	}
	return "failed"
}

// byCode does not count text that cannot be a code.
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

// guess uses up a right code. The refusal of a wrong code is the same whether the phone
// has a code or not.
func (s *Service) guess(ctx context.Context, p Phone, by client, text string, field ...string) (outcome string, err error) {
	code, ok := readCode(text)
	if !ok {
		return "invalid", apierror.Refuse(InvalidCode, "A code has six digits.", field...)
	}
	v, wait, err := s.codes.guess(ctx, p, by, code)
	switch {
	case err != nil:
		return "failed", err
	case wait > 0:
		return "throttled", tooOften(wait, "There were too many wrong codes on this server. Log in by password, or try again later.")
	case v != right:
		return string(v), apierror.Refuse(InvalidCode, "This code is wrong or has expired. Try again, or ask for a new one.", field...)
	}
	return "ok", nil
}

// passwordLimits returns the limits of attempts by a client at a phone's password.
func (s *Service) passwordLimits(p Phone, by client) []limit {
	if by.device.id != 0 {
		return []limit{{s.keys.passwordDevice(p, by.device.id), passwordTries, passwordTriesLife}}
	}
	return []limit{
		{s.keys.passwordNetwork(p, by.site()), passwordTries, passwordTriesLife},
		{s.keys.passwordTries(p), phoneTries, phoneTriesLife},
	}
}

// byPassword takes the same time for a phone without an account or without a password
// as for a wrong password, so the time does not reveal accounts. stale reports that the
// password needs a new hash.
func (s *Service) byPassword(ctx context.Context, p Phone, by client, password string, find func(context.Context) (*ent.User, error), field ...string) (row *ent.User, stale bool, outcome string, err error) {
	tries := s.passwordLimits(p, by)
	wait, err := s.limits.take(ctx, tries...)
	if err != nil {
		return nil, false, "failed", err
	}
	if wait > 0 {
		return nil, false, "throttled", apierror.Refuse(InvalidCredentials,
			"There were too many wrong passwords. Use a code, or try again in "+inWords(wait)+".", field...)
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

// rehash keeps a right password with today's cost. It may fail: there is a next
// time.
func (s *Service) rehash(ctx context.Context, row *ent.User, password string) {
	hash, err := s.passwords.hash(ctx, password)
	if err == nil {
		// Only in place of the one that was right: it may have been changed since.
		err = s.db.User.Update().Where(entuser.ID(row.ID), entuser.PasswordHash(*row.PasswordHash)).SetPasswordHash(hash).Exec(ctx)
	}
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "password not hashed anew", "user", row.ID, "err", err)
	}
}

// A PasswordChange is a new password, with either the current one or a login code.
type PasswordChange struct {
	Password string
	Current  *string
	Code     *string
	From     Origin
}

// SetPassword sets or changes the viewer's password. It ends the viewer's other sessions
// and forgets the other devices. A session alone is not enough: it takes the current
// password, or a login code that was sent to the viewer's phone.
//
// A weak password and a wrong proof are [fault.UserErrors]. Attempts count as those of
// [Service.Login]. An eleventh change in an hour is RATE_LIMITED. A viewer whose session
// has ended meanwhile is UNAUTHENTICATED.
func (s *Service) SetPassword(ctx context.Context, v Viewer, c PasswordChange) (*User, error) {
	ctx, span := observe.Span(ctx, "account.SetPassword")
	defer span.End()
	if c.Current != nil && c.Code != nil {
		return nil, apierror.BadInput("give either the current password or a code")
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
		return nil, tooOften(wait, "You have set a password too often. Try again later.")
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
// password that was right, nil after a code.
func (s *Service) prove(ctx context.Context, row *ent.User, c PasswordChange) (verified *string, err error) {
	switch {
	case row.Phone == nil:
		return nil, apierror.Refuse(InvalidPhone, "An account without a phone has no password.")
	case row.PasswordHash == nil && c.Code == nil:
		return nil, apierror.Refuse(InvalidCode, "There is no password yet. Enter a login code that was sent to your phone.", "code")
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
	if err != nil { // a right proof is no login
		s.logins.WithLabelValues(method, outcome).Inc()
	}
	return verified, err
}

// replacePassword stores a password's hash, ends all sessions of its user except the
// viewer's and forgets all devices except that session's. The viewer's session must still
// run: a session that was ended because it was stolen must not set another password. A
// verified hash must still be the user's.
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
