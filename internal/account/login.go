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
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
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
	ctx, span := observe.Span(ctx, "account.Login")
	defer span.End()
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
	wait, err := s.limits.takeByAddress(ctx, s.keys.loginAddress, c.Address, s.cfg.LoginsPerAddress)
	if err != nil {
		return nil, "failed", err
	}
	if wait > 0 {
		return nil, "throttled", tooOften(wait, "There were too many tries to log in from your network.")
	}
	p, written, err := readPhone(c.Phone)
	if err != nil && (c.Code != nil || written == "") {
		return nil, "wrong", refusePhone("input", "phone")
	}
	if err != nil {
		p = written // an account of an earlier version keeps its password, though it gets no code any more
	}
	var row *ent.User
	var verified *string // the hash of the password that was right
	stale := false
	if c.Code != nil {
		row, outcome, err = s.byCode(ctx, p, written, *c.Code)
	} else if row, stale, outcome, err = s.byPassword(ctx, p, written, *c.Password); err == nil {
		verified = row.PasswordHash
	}
	if err != nil {
		return nil, outcome, err
	}
	token, session, row, err := s.sessions.begin(ctx, row.ID, verified)
	if errors.Is(err, errPasswordChanged) {
		return nil, "wrong", wrongPassword()
	}
	if err != nil {
		return nil, "failed", fmt.Errorf("log in: %w", err)
	}
	if stale {
		s.rehash(ctx, row, *c.Password)
	}
	u := fromRow(row)
	return &Login{token, u, viewerOf(u, session)}, "ok", nil
}

// byCode leaves the number of tries as it is for what can be no code.
func (s *Service) byCode(ctx context.Context, p, written Phone, text string) (row *ent.User, outcome string, err error) {
	code, ok := readCode(text)
	if !ok {
		return nil, string(wrong), fault.Refuse(InvalidCode, "A code has six digits.", "input", "code")
	}
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
	row, fresh, err := s.register(ctx, p, written)
	if err != nil {
		return nil, "failed", fmt.Errorf("log in by code: %w", err)
	}
	if fresh {
		s.log.InfoContext(ctx, "new user", "user", row.ID)
	}
	return row, "ok", nil
}

// byPassword takes as long for a phone without an account, or without a
// password, as for a wrong one: the time does not tell who is known here. Stale
// says that the password should be hashed anew.
func (s *Service) byPassword(ctx context.Context, p, written Phone, password string) (row *ent.User, stale bool, outcome string, err error) {
	tries := s.keys.passwordTries(p)
	wait, err := s.limits.take(ctx, tries, passwordTries, passwordTriesLife)
	if err != nil {
		return nil, false, "failed", err
	}
	if wait > 0 {
		return nil, false, "throttled", fault.Refuse(InvalidCredentials,
			"There were too many wrong passwords. Log in by code, or try again in "+inWords(wait)+".", "input", "password")
	}
	ok := false
	if row, err = s.byPhone(ctx, p, written); err == nil {
		if row != nil && row.PasswordHash != nil {
			ok, stale, err = s.passwords.verify(ctx, *row.PasswordHash, password)
		} else {
			err = s.passwords.waste(ctx, password)
		}
	}
	switch {
	case err != nil: // nothing was compared
		s.limits.giveBack(ctx, tries)
		return nil, false, "failed", fmt.Errorf("log in by password: %w", err)
	case !ok:
		return nil, false, "wrong", wrongPassword()
	}
	s.limits.clear(ctx, tries)
	return row, stale, "ok", nil
}

func wrongPassword() fault.UserErrors {
	return fault.Refuse(InvalidCredentials, "The phone number or the password is wrong.", "input", "password")
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
// other sessions are over. A password that is too short or too long is
// [fault.UserErrors]. Ten times an hour are allowed, then it is RATE_LIMITED. A
// viewer whose session has ended meanwhile is UNAUTHENTICATED.
func (s *Service) SetPassword(ctx context.Context, v Viewer, password string) (*User, error) {
	ctx, span := observe.Span(ctx, "account.SetPassword")
	defer span.End()
	password, reason := checkPassword(password)
	if reason != "" {
		return nil, fault.Refuse(fault.InvalidInput, reason, "password")
	}
	wait, err := s.limits.take(ctx, s.keys.passwordSets(v.ID), passwordSets, time.Hour)
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
	row, err := s.sessions.replacePassword(ctx, v, hash)
	if err != nil {
		return nil, fmt.Errorf("set the password of user %d: %w", v.ID, err)
	}
	return fromRow(row), nil
}

// replacePassword stores a password's hash and ends all sessions of its user but
// the viewer's, which must still run: a session that was ended because somebody
// stole it must not set another password.
func (s *sessions) replacePassword(ctx context.Context, v Viewer, hash string) (row *ent.User, err error) {
	var over []string
	var job []outbox.Ticket
	err = s.whole(ctx, func(ctx context.Context, tx *ent.Tx) error {
		if _, err := lockUser(ctx, tx, v.ID); err != nil {
			return err
		}
		runs, err := tx.Session.Query().Where(entsession.ID(v.session), entsession.EndedAtIsNil()).Exist(ctx)
		if err != nil {
			return fmt.Errorf("select session: %w", err)
		}
		if !runs {
			return fault.New(fault.Unauthenticated, "Sign in first.")
		}
		if row, err = tx.User.UpdateOneID(v.ID).SetPasswordHash(hash).Save(ctx); err != nil {
			return fmt.Errorf("update user: %w", err)
		}
		over, job, err = s.endAll(ctx, tx, entsession.UserID(v.ID), entsession.IDNEQ(v.session))
		return err
	})
	if err == nil {
		s.announce(ctx, job, over...)
	}
	return row, err
}
