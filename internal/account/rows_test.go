package account

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestUserQueryMatchesEnt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, ctx := open(t, on, Config{}), t.Context()
		rows := []*ent.User{
			s.db.User.Create().SetNickname("all is null").SaveX(ctx),
			s.db.User.Create().SetNickname("all is set").SetPhone(ann.E164()).SetExternalID("x:1").SetPasswordHash("$argon2id$").
				SetAvatarURL("/media/a.png").SetRole(entuser.RoleADMIN).SetCity("").SetBio("\"火锅\"\n\\").SetGender(entuser.GenderFEMALE).
				SetPoints(1 << 30).SetFollowerCount(1).SetFolloweeCount(2).SetNoteCount(3).SetFollowVersion(4).SetVersion(1 << 60).
				SetBirthday("2000-02-29").SaveX(ctx),
			s.db.User.Create().SetNickname("a birthday that is none").SetCity("Hà Nội").SetBirthday("2001-02-29").SaveX(ctx),
		}
		want, ids := map[int64]User{}, []int64{1 << 40}
		for _, r := range rows {
			want[r.ID], ids = *fromRow(s.db.User.GetX(ctx, r.ID)), append(ids, r.ID)
			got, err := s.loadUsers(ctx, []int64{r.ID})
			if d := cmp.Diff(map[int64]User{r.ID: want[r.ID]}, got); d != "" || err != nil {
				t.Errorf("%s alone: %v (-want +got)\n%s", r.Nickname, err, d)
			}
		}
		got, err := s.loadUsers(ctx, ids)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("all: %v (-want +got)\n%s", err, d)
		}
	})
}

func TestUserColumnsMapToFields(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, ctx := open(t, on, Config{}), t.Context()
		create := s.db.User.Create().SetPhone(ann.E164()).SetRole(entuser.RoleMERCHANT).SetGender(entuser.GenderFEMALE).SetBirthday("2000-02-29")
		storetest.FillRow(t, create.Mutation(), ent.User{}, entuser.Columns)
		row := s.db.User.GetX(ctx, create.SaveX(ctx).ID)
		got, err := s.loadUsers(ctx, []int64{row.ID})
		if err != nil {
			t.Fatal(err)
		}
		masked := ann.Masked()
		storetest.CheckRow(t, row, got[row.ID], map[string]any{"Phone": &masked, "Birthday": dateOf(row.Birthday)},
			"ExternalID", "PasswordHash", "FollowVersion", "UpdatedAt")
	})
}

func TestSessionQueryMatchesEnt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, ctx, now := open(t, on, Config{}), t.Context(), time.Now()
		user := s.db.User.Create().SetNickname("somebody").SaveX(ctx)
		until := now.Add(sessionLife - time.Minute).UTC()
		create := func(id string) *ent.SessionCreate { return s.db.Session.Create().SetID(id).SetUserID(user.ID) }
		row := create("runs").SetExpiresAt(until).SetUsedAt(until.Add(-sessionLife)).SaveX(ctx)
		create("unused").SetExpiresAt(until).SaveX(ctx) // of an earlier version
		create("over").SetExpiresAt(now.Add(-time.Millisecond).UTC()).SaveX(ctx)
		create("ended").SetExpiresAt(until).SetEndedAt(now.UTC()).SaveX(ctx)
		create("old").SetExpiresAt(until).SetCreatedAt(now.Add(-sessionMax).UTC()).SaveX(ctx)
		want := s.db.Session.GetX(ctx, row.ID)
		for _, id := range []string{row.ID, "unused"} {
			who, used, err := s.sessions.row(ctx, id, now)
			if err != nil || who.user != user.ID || !used.Equal(*want.UsedAt) || !who.end.Equal(want.CreatedAt.Add(sessionMax)) && id == row.ID {
				t.Errorf("%s: got user %d, use %v, end %v (%v), want %d, %v", id, who.user, used, who.end, err, user.ID, want)
			}
		}
		for _, id := range []string{"over", "ended", "none", "old"} {
			if who, _, err := s.sessions.row(ctx, id, now); !errors.Is(err, apierror.ErrNotFound) {
				t.Errorf("session %q: got user %d, %v", id, who.user, err)
			}
		}
	})
}
