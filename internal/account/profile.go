package account

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entdevice "github.com/tandian-dev/tandian/ent/device"
	entsession "github.com/tandian-dev/tandian/ent/session"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Maximum lengths of a profile, in characters.
const (
	MaxNickname = 30
	MaxCity     = 40
	MaxBio      = 200
)

// Changes are changes of a profile. All fields except the nickname can be cleared.
type Changes struct {
	Nickname  optional.Field[string]
	AvatarURL optional.Field[string]
	City      optional.Field[string]
	Bio       optional.Field[string] // may have several lines
	Gender    optional.Field[Gender]
	Birthday  optional.Field[civil.Date]
}

// UpdateProfile changes the viewer's profile and returns the new profile. If something is
// invalid, it changes nothing and returns all problems as an [apierror.UserErrors].
func (s *Service) UpdateProfile(ctx context.Context, v Viewer, c Changes) (*User, error) {
	ctx, span := observe.Span(ctx, "account.UpdateProfile")
	defer span.End()
	wrong := s.change(s.db.User.UpdateOneID(v.ID), c)
	avatar, err := s.avatar(ctx, v.ID, c.AvatarURL, &wrong)
	if err != nil {
		return nil, err
	}
	if err := wrong.OrNil(); err != nil {
		return nil, err
	}
	// The end of the request must not prevent the invalidation after the commit.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	shown := func(tx *ent.Tx) error {
		if !c.AvatarURL.Given {
			return nil
		}
		return s.cfg.Pictures.SetUsed(ctx, tx, map[int64]mediapath.Usage{v.ID: {By: mediapath.Editor{UserID: v.ID}, Paths: avatar}})
	}
	row, err := s.update(ctx, v.ID, func(u *ent.UserUpdateOne) { _ = s.change(u, c) }, shown) // validated above
	if err != nil {
		return nil, fmt.Errorf("update the profile of user %d: %w", v.ID, err)
	}
	return fromRow(row), nil
}

// avatar returns a list with the new picture, or an empty list if there is none. It adds
// problems to wrong.
func (s *Service) avatar(ctx context.Context, user int64, f optional.Field[string], wrong *apierror.UserErrors) (paths []string, err error) {
	if f.Value == nil {
		return nil, nil
	}
	paths = []string{*f.Value}
	known, err := s.cfg.Pictures.Sizes(ctx, mediapath.Editor{UserID: user, ItemID: user}, paths)
	if err != nil {
		return nil, err
	}
	if why := mediapath.CheckKnown(paths, known); why != "" {
		wrong.Add(mediapath.Rejected, "avatarUrl", "%s", why)
	}
	return paths, nil
}

// DropAvatar removes a deleted picture from a profile and invalidates the cached user. It
// is idempotent. It does not change a user with another picture.
func (s *Service) DropAvatar(ctx context.Context, id int64, path string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var job []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		err := tx.User.Update().Where(entuser.ID(id), entuser.AvatarURL(path)).ClearAvatarURL().AddVersion(1).Exec(ctx)
		if err == nil {
			job, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove avatar of user %d: %w", id, err)
	}
	s.afterCommit(ctx, job, id)
	return nil
}

// update changes one user and caches the new row. then runs in the same transaction, after
// the row is locked and changed.
func (s *Service) update(ctx context.Context, id int64, change func(*ent.UserUpdateOne), then func(*ent.Tx) error) (row *ent.User, err error) {
	var job []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		u := tx.User.UpdateOneID(id).AddVersion(1)
		change(u)
		if row, err = u.Save(ctx); err != nil {
			return err
		}
		if err := then(tx); err != nil {
			return err
		}
		job, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.cacheRow(ctx, row, job)
	return row, nil
}

func noFollowUp(*ent.Tx) error { return nil }

func (s *Service) change(u *ent.UserUpdateOne, c Changes) (wrong apierror.UserErrors) {
	if c.Nickname.Given {
		name := text.Line(optional.Value(c.Nickname.Value))
		if text.Blank(name) || text.Len(name) > MaxNickname {
			wrong.Add(apierror.InvalidInput, "nickname", "A nickname must have 1 to %d characters.", MaxNickname)
		}
		u.SetNickname(name)
	}
	optional := func(f optional.Field[string], field string, maxLen int, clean func(string) string, set func(string) *ent.UserUpdateOne, unset func() *ent.UserUpdateOne) {
		if !f.Given {
			return
		}
		t := clean(optional.Value(f.Value))
		if text.Len(t) > maxLen {
			wrong.Add(apierror.InvalidInput, field, "Enter at most %d characters.", maxLen)
		}
		if text.Blank(t) {
			unset()
		} else {
			set(t)
		}
	}
	optional(c.City, "city", MaxCity, text.Line, u.SetCity, u.ClearCity)
	optional(c.Bio, "bio", MaxBio, text.Paragraphs, u.SetBio, u.ClearBio)
	if c.AvatarURL.Given {
		if url := c.AvatarURL.Value; url == nil {
			u.ClearAvatarURL()
		} else {
			u.SetAvatarURL(*url)
		}
	}
	if c.Gender.Given {
		g := Unspecified
		if c.Gender.Value != nil {
			g = *c.Gender.Value
		}
		u.SetGender(entuser.Gender(g))
	}
	if c.Birthday.Given {
		switch d := c.Birthday.Value; {
		case d == nil:
			u.ClearBirthday()
		case d.Year < 1900 || civil.DateOf(s.now().UTC().AddDate(0, 0, 1)).Before(*d): // another zone may have tomorrow
			wrong.Add(apierror.InvalidInput, "birthday", "A birthday must be between 1900 and today.")
		default:
			u.SetBirthday(d.String())
		}
	}
	return wrong
}

// Grant gives a role to the account of a phone, and creates the account if there is none.
// All instances apply the role within moments.
func (s *Service) Grant(ctx context.Context, p Phone, role Role) (u *User, fresh bool, err error) {
	if role.rank() == 0 {
		return nil, false, fmt.Errorf("unknown role %q (want one of %v)", role, Roles())
	}
	row, fresh, err := s.register(ctx, p, p)
	if err != nil {
		return nil, false, err
	}
	id := row.ID
	row, err = s.update(ctx, id, func(u *ent.UserUpdateOne) { u.SetRole(entuser.Role(role)) }, noFollowUp)
	if err != nil {
		return nil, fresh, fmt.Errorf("grant user %d role %s: %w", id, role, err)
	}
	return fromRow(row), fresh, nil
}

// A DemoAccount is an account of a demo installation.
type DemoAccount struct {
	Phone    Phone
	Nickname string
	Role     Role
}

// demoAge is the age of a new demo account. New accounts have low hourly write limits.
const demoAge = 30 * 24 * time.Hour

// EnsureDemoAccounts ensures that each phone has an account with this role and nickname.
// All get the same password, which is hashed once. It returns the users in order.
func (s *Service) EnsureDemoAccounts(ctx context.Context, password string, accounts ...DemoAccount) ([]*User, error) {
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return nil, fmt.Errorf("create demo accounts: %w", err)
	}
	users := make([]*User, len(accounts))
	made := s.now().Add(-demoAge)
	for i, a := range accounts {
		row, _, err := s.registerAt(ctx, a.Phone, a.Phone, &made)
		if err == nil {
			row, err = s.update(ctx, row.ID, func(u *ent.UserUpdateOne) {
				u.SetNickname(a.Nickname).SetRole(entuser.Role(a.Role)).SetPasswordHash(hash)
			}, noFollowUp)
		}
		if err != nil {
			return nil, fmt.Errorf("create demo account %s: %w", a.Nickname, err)
		}
		users[i] = fromRow(row)
	}
	return users, nil
}

// DisableDemoAccounts removes the passwords, roles, sessions and devices of demo accounts,
// so that no client can log in to them.
func (s *Service) DisableDemoAccounts(ctx context.Context, phones ...Phone) error {
	numbers := make([]string, len(phones))
	for i, p := range phones {
		numbers[i] = p.E164()
	}
	ids, err := s.db.User.Query().Where(entuser.PhoneIn(numbers...)).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	var users, ended []outbox.JobRef
	var sessions []string
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		err = tx.User.Update().Where(entuser.IDIn(ids...), entuser.Or(entuser.PasswordHashNotNil(), entuser.RoleNEQ(entuser.Role(Customer)))).
			ClearPasswordHash().SetRole(entuser.Role(Customer)).AddVersion(1).Exec(ctx)
		if err == nil {
			users, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, ids...)
		}
		if err == nil {
			sessions, ended, err = s.sessions.endAll(ctx, tx, entsession.UserIDIn(ids...))
		}
		if err == nil {
			_, err = tx.Device.Delete().Where(entdevice.UserIDIn(ids...)).Exec(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("disable %d demo accounts: %w", len(ids), err)
	}
	s.afterCommit(ctx, users, ids...)
	s.sessions.afterCommit(ctx, ended, sessions...)
	return nil
}
