package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const checkIn = `mutation { checkIn { pointsEarned checkIns { month days count streak today } userErrors { code } } }`

type shownMonth struct {
	Month         string
	Days          []int
	Count, Streak int
	Today         string
}

// Check-ins are visible only to their user.
func TestCheckInEarnsPointsOnceADay(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.Zone = "Asia/Shanghai"
		s := stack.Start(t)
		ann, id := s.Login(t, "13800001111")
		bob, _ := s.Login(t, "13800002222")
		if c := code(t, s.Do(t, checkIn, nil, nil)); c != "UNAUTHENTICATED" {
			t.Errorf("without a session: %q", c)
		}
		if _, err := stack.SQL(t).ExecContext(t.Context(), "INSERT INTO check_ins (user_id, month, days, points) SELECT id, 202401, 4294967294, 155 FROM users WHERE id = $1", number(t, id)); err != nil {
			t.Fatal(err)
		}
		if _, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE users SET points = 97 WHERE id = $1", number(t, id)); err != nil {
			t.Fatal(err)
		}
		zone := time.FixedZone("CST", 8*60*60)
		day := time.Now().In(zone)
		for _, earned := range []int{5, 0} {
			var did struct {
				CheckIn struct {
					PointsEarned int
					CheckIns     shownMonth
					UserErrors   []apptest.UserError
				}
			}
			ann.Must(t, checkIn, nil, &did)
			if now := time.Now().In(zone); now.Day() != day.Day() {
				t.Skip("the day changed")
			}
			want := shownMonth{day.Format("2006-01"), []int{day.Day()}, 1, 1, day.Format(time.DateOnly)}
			if d := cmp.Diff(want, did.CheckIn.CheckIns); d != "" || did.CheckIn.PointsEarned != earned || len(did.CheckIn.UserErrors) > 0 {
				t.Errorf("%+v, want %d points (-want +got):\n%s", did.CheckIn, earned, d)
			}
			var me struct {
				Me struct {
					Points, Level int
					CheckIns, Old shownMonth
				}
			}
			ann.Must(t, `{ me { points level checkIns { month days count streak today } old: checkIns(month: "2024-01") { month count streak today } } }`, nil, &me)
			if d := cmp.Diff(want, me.Me.CheckIns); d != "" || me.Me.Points != 102 || me.Me.Level != 1 || me.Me.Old.Count != 31 || me.Me.Old.Streak != 1 || me.Me.Old.Today != want.Today {
				t.Errorf("got me %+v, want 102 points and level 1 (-want +got):\n%s", me.Me, d)
			}
		}
		var others struct {
			User struct{ CheckIns *shownMonth }
		}
		query := fmt.Sprintf(`{ user(id: %q) { checkIns { count } } }`, id)
		for name, who := range map[string]*apptest.Server{"Bob": bob, "an anonymous client": s} {
			if who.Must(t, query, nil, &others); others.User.CheckIns != nil {
				t.Errorf("%s sees %+v", name, others.User.CheckIns)
			}
		}
		for _, month := range []string{"2024", "2024-13", "2024-1", "13-2024"} {
			if c := code(t, ann.Do(t, fmt.Sprintf(`{ me { checkIns(month: %q) { count } } }`, month), nil, nil)); c != "BAD_USER_INPUT" {
				t.Errorf("%q: %q", month, c)
			}
		}
	})
}

func TestCheckInIsVisibleOnEveryInstance(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	a, b := stack.Start(t), stack.Start(t)
	ann, _ := a.Login(t, "13800001111")
	const count = `{ me { points checkIns { count streak } } }`
	if got := dataOf(t, ann.OnServer(b), count, nil); got != `{"me":{"points":0,"checkIns":{"count":0,"streak":0}}}` {
		t.Errorf("before: %s", got)
	}
	ann.Must(t, checkIn, nil, nil)
	if got := dataOf(t, ann.OnServer(b), `{ me { checkIns { count streak } } }`, nil); got != `{"me":{"checkIns":{"count":1,"streak":1}}}` {
		t.Errorf("after: %s", got)
	}
	var again struct {
		CheckIn struct{ PointsEarned int }
	}
	if ann.OnServer(b).Must(t, checkIn, nil, &again); again.CheckIn.PointsEarned != 0 {
		t.Errorf("the second check-in earned %d points, want 0", again.CheckIn.PointsEarned)
	}
}
