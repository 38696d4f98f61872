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

// The results: a phone of several accounts, one stored under another spelling than
// its own, one that has got its own spelling now, and a number that nobody can have.
const (
	PhoneShared    PhoneState = "shared"
	PhoneSpelling  PhoneState = "spelling"
	PhoneRewritten PhoneState = "rewritten"
	PhoneInvalid   PhoneState = "invalid"
)

// A PhoneIssue is a phone that is not stored as [ParsePhone] returns it.
type PhoneIssue struct {
	State PhoneState
	Phone Phone   // as it should be stored; as it is stored if it is invalid
	Users []int64 // ascending; several share a phone
}

// CheckPhones reads the phones of all accounts and returns how many there are, and
// those that are not stored as [ParsePhone] returns them, in the order of their
// first users. With rewrite it stores those that no other account has under their
// own spelling. It is safe beside running servers of this version; servers of an
// earlier one find rewritten accounts by their own spelling alone.
func (s *Service) CheckPhones(ctx context.Context, rewrite bool) (checked int, found []PhoneIssue, err error) {
	ctx, span := observe.Span(ctx, "account.CheckPhones")
	defer span.End()
	odd := map[Phone][]int64{} // users by the phone that they should have
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

// checkPhone checks a phone that users have under other spellings.
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
		case ent.IsConstraintError(err): // an account was made meanwhile
			return s.checkPhone(ctx, p, users, false)
		case err != nil:
			return f, fmt.Errorf("store the phone of user %d: %w", users[0], err)
		}
		f.State = PhoneRewritten
	}
	return f, nil
}
