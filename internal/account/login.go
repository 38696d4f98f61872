package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entsession "github.com/tandian-dev/tandian/ent/session"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/fault"
)

// Credentials are what somebody logs in with: a phone and either the code that
// was sent to it or a password.
type Credentials struct {
	Phone    string
	Code     *string
	Password *string
	Address  string // of the client; "" if it is not known
}

// A Login is what somebody gets who came in.
type Login struct {
	Token  string // the only time that it is seen
	User   *User
	Viewer Viewer // who asks from now on
}

// Login begins a session. A code registers a phone that has no account yet, as
// a customer; a password does not. Wrong ones are [fault.UserErrors], and so are
// right ones after too many wrong ones: five guesses at a code, five at a
// password in a quarter of an hour. Too many tries from one address are
// RATE_LIMITED.
//
// It takes several round trips to Redis and a few statements, one after the
// other, because each decides whether the next one happens.
func (s *Service) Login(ctx context.Context, c Credentials) (*Login, error) {
	method := "code"
	if c.Password != nil {
		method = "password"
	}
	if (c.Code == nil) == (c.Password == nil) {
		return nil, fault.BadInput("give either a code or a password")
	}
	login, outcome, err := s.login(ctx, c)
	s.logins.WithLabelValues(method, outcome).Inc()
	return login, err
}

func (s *Service) login(ctx context.Context, c Credentials) (login *Login, outcome string, err error) {
	wait, err := s.codes.limit(ctx, s.codes.keys.loginAddress(c.Address), s.cfg.LoginsPerAddress, time.Hour, c.Address != "")
	if err != nil {
		return nil, "failed", err
	}
	if wait > 0 {
		f := fault.New(fault.RateLimited, "There were too many tries to log in from your network.")
		f.RetryAfter = wait
		return nil, "throttled", f
	}
	p, err := ParsePhone(c.Phone)
	if err != nil {
		return nil, "wrong", refusePhone("input", "phone")
	}
	var row *ent.User
	if c.Code != nil {
		row, outcome, err = s.byCode(ctx, p, *c.Code)
	} else {
		row, outcome, err = s.byPassword(ctx, p, *c.Password)
	}
	if err != nil {
		return nil, outcome, err
	}
	token, session, err := s.sessions.begin(ctx, row.ID)
	if err != nil {
		return nil, "failed", fmt.Errorf("log in user %d: %w", row.ID, err)
	}
	u := fromRow(row)
	return &Login{token, u, Viewer{ID: u.ID, Role: u.Role, session: session}}, "ok", nil
}

func (s *Service) byCode(ctx context.Context, p Phone, code string) (row *ent.User, outcome string, err error) {
	v, err := s.codes.guess(ctx, p, code)
	if err != nil {
		return nil, "failed", err
	}
	switch v {
	case wrong:
		return nil, string(v), fault.Refuse(InvalidCode, "This is not the code.", "input", "code")
	case dead:
		return nil, string(v), fault.Refuse(InvalidCode, "There is no such code any more. Ask for a new one.", "input", "code")
	case right:
	}
	row, fresh, err := s.register(ctx, p)
	if err != nil {
		return nil, "failed", fmt.Errorf("log in by code: %w", err)
	}
	if fresh {
		s.log.InfoContext(ctx, "new user", "user", row.ID)
	}
	return row, "ok", nil
}

// byPassword takes as long for a phone without an account, or without a
// password, as for a wrong one: the time does not tell who is known here.
func (s *Service) byPassword(ctx context.Context, p Phone, password string) (row *ent.User, outcome string, err error) {
	tries := s.codes.keys.passwordTries(p)
	wait, err := s.codes.limit(ctx, tries, passwordTries, passwordTriesLife, true)
	if err != nil {
		return nil, "failed", err
	}
	if wait > 0 {
		return nil, "throttled", fault.Refuse(InvalidCredentials,
			"There were too many wrong passwords. Log in by code, or try again in "+inWords(wait)+".", "input", "password")
	}
	row, err = s.byPhone(ctx, p)
	if err != nil {
		return nil, "failed", fmt.Errorf("log in by password: %w", err)
	}
	ok, stale := false, false
	if row != nil && row.PasswordHash != nil {
		ok, stale, err = s.passwords.verify(ctx, *row.PasswordHash, password)
	} else {
		err = s.passwords.waste(ctx, password)
	}
	if err != nil {
		return nil, "failed", fmt.Errorf("log in by password: %w", err)
	}
	if !ok {
		return nil, "wrong", fault.Refuse(InvalidCredentials, "The phone number or the password is wrong.", "input", "password")
	}
	s.codes.clear(ctx, tries)
	if stale {
		s.rehash(ctx, row, password)
	}
	return row, "ok", nil
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
		s.log.WarnContext(ctx, "password not hashed anew", "user", row.ID, "err", err)
	}
}

// SetPassword sets the viewer's password, or changes it; then the viewer's
// other sessions end. A password that is too easy or too long is
// [fault.UserErrors].
func (s *Service) SetPassword(ctx context.Context, v Viewer, password string) (*User, error) {
	password, reason := checkPassword(password)
	if reason != "" {
		return nil, fault.Refuse(InvalidInput, reason, "password")
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return nil, fmt.Errorf("set the password of user %d: %w", v.ID, err)
	}
	n, err := s.db.User.Update().Where(entuser.ID(v.ID)).SetPasswordHash(hash).Save(ctx)
	if err == nil && n == 0 {
		err = errors.New("there is no such user any more")
	}
	if err == nil {
		err = s.sessions.end(ctx, entsession.UserID(v.ID), entsession.IDNEQ(v.session))
	}
	if err != nil {
		return nil, fmt.Errorf("set the password of user %d: %w", v.ID, err)
	}
	return s.ByID(ctx, v.ID)
}
