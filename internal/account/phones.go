package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// PhoneState is the result of a check of stored phones.
type PhoneState string

// The results: several accounts share the phone, it is stored in another spelling, it was
// rewritten to its canonical spelling, or it is invalid.
const (
	PhoneShared    PhoneState = "shared"
	PhoneSpelling  PhoneState = "spelling"
	PhoneRewritten PhoneState = "rewritten"
	PhoneInvalid   PhoneState = "invalid"
)

// A PhoneIssue is a phone that is not stored in the form of [ParsePhone].
type PhoneIssue struct {
	State PhoneState
	Phone Phone   // canonical; as stored if it is invalid
	Users []int64 // ascending; several if they share the phone
}

// CheckPhones checks the phones of all accounts. It returns their number, and the phones
// that are not stored in the form of [ParsePhone], in the order of their first users.
//
// With rewrite it stores the canonical spelling of a phone, unless another account has it.
// It is safe while servers of this version run. Servers of an earlier version find a
// rewritten account only by its canonical spelling.
func (s *Service) CheckPhones(ctx context.Context, rewrite bool) (checked int, found []PhoneIssue, err error) {
	ctx, span := observe.Span(ctx, "account.CheckPhones")
	defer span.End()
	odd := map[Phone][]int64{} // users by canonical phone
	for after := int64(0); ; {
		rows, err := s.db.User.Query().Where(entuser.IDGT(after), entuser.PhoneNotNil()).Order(entuser.ByID()).Limit(bulk).
			Select(entuser.FieldID, entuser.FieldPhone).All(ctx)
		if err != nil {
			return checked, nil, fmt.Errorf("select phones: %w", err)
		}
		for _, row := range rows {
			stored := Phone(*row.Phone)
			switch p, err := ParsePhone(stored.E164()); {
			case err != nil:
				found = append(found, PhoneIssue{PhoneInvalid, stored, []int64{row.ID}})
			case p != stored:
				odd[p] = append(odd[p], row.ID)
			}
			after = row.ID
		}
		checked += len(rows)
		if len(rows) < bulk {
			break
		}
	}
	for p, users := range odd {
		f, err := s.checkPhone(ctx, p, users, rewrite)
		if err != nil {
			return checked, nil, err
		}
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b PhoneIssue) int { return cmp.Compare(a.Users[0], b.Users[0]) })
	return checked, found, nil
}

// checkPhone checks a phone that users have in other spellings.
func (s *Service) checkPhone(ctx context.Context, p Phone, users []int64, rewrite bool) (PhoneIssue, error) {
	ids, err := s.db.User.Query().Where(entuser.Phone(p.E164())).IDs(ctx)
	if err != nil {
		return PhoneIssue{}, fmt.Errorf("select user by phone: %w", err)
	}
	f := PhoneIssue{PhoneSpelling, p, append(ids, users...)}
	slices.Sort(f.Users)
	switch {
	case len(f.Users) > 1:
		f.State = PhoneShared
	case rewrite:
		_, err := s.update(ctx, users[0], func(u *ent.UserUpdateOne) { u.SetPhone(p.E164()) }, noFollowUp)
		switch {
		case ent.IsConstraintError(err): // an account was created meanwhile
			return s.checkPhone(ctx, p, users, false)
		case err != nil:
			return f, fmt.Errorf("store the phone of user %d: %w", users[0], err)
		}
		f.State = PhoneRewritten
	}
	return f, nil
}
