package account

import (
	"context"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	entsession "github.com/tandian-dev/tandian/ent/session"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/calendar"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/patch"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Bounds of a profile, in characters.
const (
	MaxNickname = 30
	MaxCity     = 40
	MaxBio      = 200
)

// Changes are what a user changes of the profile. Clearing is for all but the
// nickname.
type Changes struct {
	Nickname  patch.Field[string]
	AvatarURL patch.Field[string]
	City      patch.Field[string]
	Bio       patch.Field[string] // may have several lines
	Gender    patch.Field[Gender]
	Birthday  patch.Field[calendar.Date]
}

// UpdateProfile changes the viewer's profile and returns it as it is then, for
// everybody at once. Everything that is wrong comes back together, as
// [fault.UserErrors], and nothing is changed.
func (s *Service) UpdateProfile(ctx context.Context, v Viewer, c Changes) (*User, error) {
	ctx, span := observe.Span(ctx, "account.UpdateProfile")
	defer span.End()
	u := s.db.User.UpdateOneID(v.ID)
	if err := s.change(u, c).OrNil(); err != nil {
		return nil, err
	}
	// Not until the client hangs up: what was committed must be forgotten.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	row, err := u.AddVersion(1).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("update the profile of user %d: %w", v.ID, err)
	}
	s.show(ctx, row)
	return fromRow(row), nil
}

// change puts the changes into a statement and says what is wrong with them.
func (s *Service) change(u *ent.UserUpdateOne, c Changes) (wrong fault.UserErrors) {
	if c.Nickname.Given {
		name := text.Line(optional.Value(c.Nickname.Value))
		if text.Blank(name) || text.Len(name) > MaxNickname {
			wrong.Add(fault.InvalidInput, "nickname", "A nickname has 1 to %d characters.", MaxNickname)
		}
		u.SetNickname(name)
	}
	optional := func(f patch.Field[string], field string, most int, clean func(string) string, set func(string) *ent.UserUpdateOne, unset func() *ent.UserUpdateOne) {
		if !f.Given {
			return
		}
		t := clean(optional.Value(f.Value))
		if text.Len(t) > most {
			wrong.Add(fault.InvalidInput, field, "At most %d characters.", most)
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
		} else if !mediapath.Valid(*url) {
			wrong.Add(mediapath.Rejected, "avatarUrl", "This is no picture that was uploaded here.")
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
		case d.Year < 1900 || calendar.DateOf(s.now().UTC().AddDate(0, 0, 1)).Before(*d): // it is tomorrow somewhere
			wrong.Add(fault.InvalidInput, "birthday", "A birthday lies between 1900 and today.")
		default:
			u.SetBirthday(d.String())
		}
	}
	return wrong
}

// Grant gives a phone's account a role, from the account's next request on, on
// every instance. A phone without an account gets one.
func (s *Service) Grant(ctx context.Context, p Phone, role Role) (u *User, fresh bool, err error) {
	if role.rank() == 0 {
		return nil, false, fmt.Errorf("there is no role %q; there are %v", role, Roles())
	}
	row, fresh, err := s.register(ctx, p)
	if err != nil {
		return nil, false, err
	}
	id := row.ID
	row, err = row.Update().SetRole(entuser.Role(role)).AddVersion(1).Save(ctx)
	if err != nil {
		return nil, fresh, fmt.Errorf("give user %d the role %s: %w", id, role, err)
	}
	if _, err := s.users.Put(ctx, id, *fromRow(row)); err != nil {
		return nil, fresh, fmt.Errorf("user %d has the role now, but the cache was not told; repeat this to mend it: %w", id, err)
	}
	return fromRow(row), fresh, nil
}

// Furnished is an account that an installation for trying has from the start.
type Furnished struct {
	Phone    Phone
	Nickname string
	Role     Role
}

// Furnish makes sure that each phone has an account with this role and nickname,
// all with one password, which is hashed once, and returns them in their order:
// for logins that are printed.
func (s *Service) Furnish(ctx context.Context, password string, accounts ...Furnished) ([]*User, error) {
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return nil, fmt.Errorf("furnish accounts: %w", err)
	}
	users := make([]*User, len(accounts))
	for i, a := range accounts {
		row, _, err := s.register(ctx, a.Phone)
		if err == nil {
			row, err = row.Update().SetNickname(a.Nickname).SetRole(entuser.Role(a.Role)).SetPasswordHash(hash).AddVersion(1).Save(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("furnish the account of %s: %w", a.Nickname, err)
		}
		s.forget(ctx, row.ID)
		users[i] = fromRow(row)
	}
	return users, nil
}

// Retire makes accounts that were furnished ordinary ones again, which nobody can
// come in with: their passwords go, their roles, their sessions.
func (s *Service) Retire(ctx context.Context, phones ...Phone) error {
	numbers := make([]string, len(phones))
	for i, p := range phones {
		numbers[i] = p.E164()
	}
	ids, err := s.db.User.Query().Where(entuser.PhoneIn(numbers...)).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	// Each step also when nothing is left to do for it: the call that this one
	// repeats may have ended anywhere.
	err = s.db.User.Update().Where(entuser.IDIn(ids...), entuser.Or(entuser.PasswordHashNotNil(), entuser.RoleNEQ(entuser.Role(Customer)))).
		ClearPasswordHash().SetRole(entuser.Role(Customer)).AddVersion(1).Exec(ctx)
	if err == nil {
		err = s.users.Invalidate(ctx, ids...)
	}
	var sessions []string
	if err == nil {
		sessions, err = s.db.Session.Query().Where(entsession.UserIDIn(ids...), entsession.EndedAtIsNil()).IDs(ctx)
	}
	for _, id := range sessions {
		if err == nil {
			err = s.sessions.end(ctx, id)
		}
	}
	if err != nil {
		return fmt.Errorf("retire %d accounts: %w", len(ids), err)
	}
	return nil
}
