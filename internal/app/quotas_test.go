package app_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const aliasesAtOnce = 5 // root fields of one mutation

// refusals sends a write n times, by aliases. It returns the error code of each, or "" for a
// success. Each LIMIT_REACHED must have a retry time.
func refusals(t *testing.T, as *apptest.Server, alias string, n int) []string {
	t.Helper()
	if n > aliasesAtOnce {
		return append(refusals(t, as, alias, aliasesAtOnce), refusals(t, as, alias, n-aliasesAtOnce)...)
	}
	var document strings.Builder
	document.WriteString("mutation {")
	for i := range n {
		_, _ = fmt.Fprintf(&document, " m%d: %s", i, alias)
	}
	document.WriteString(" }")
	var fields map[string]struct {
		UserErrors []struct {
			Code, Message     string
			RetryAfterSeconds *int
		}
	}
	as.Must(t, document.String(), nil, &fields)
	codes := make([]string, n)
	for i := range codes {
		for _, e := range fields[fmt.Sprintf("m%d", i)].UserErrors {
			codes[i] = e.Code
			wait := e.RetryAfterSeconds
			if e.Code == "LIMIT_REACHED" && (wait == nil || *wait < 1 || *wait > 3600 || !strings.Contains(e.Message, "minutes")) {
				t.Errorf("%s: %q, retry in %v s", alias, e.Message, wait)
			}
		}
	}
	return codes
}

// Aliases of one request count separately.
func TestContentLimitsHold(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.NotesPerUser, stack.Config.CommentsPerUser, stack.Config.LikesPerUser = 20, 20, 20
		stack.Config.FollowsPerUser, stack.Config.ShopsPerUser, stack.Config.VouchersPerUser = 20, 20, 20
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		young, owner := s.As(m.customers[0].token), s.As(m.owner.token)
		note := m.note(t, owner, "To be liked")
		const refused = "userErrors { code message retryAfterSeconds }"
		type write struct {
			name      string
			as        *apptest.Server
			bad, good string // an invalid write and a valid one
			done      int    // valid writes until the limit, which is 2 for a young account
		}
		begins, ends := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		flash := fmt.Sprintf(`createFlashVoucher(input: {shopId: %q, title: "Noon", payValue: 1, faceValue: 2, stock: 1, beginsAt: %q, endsAt: %q}) { %s }`,
			m.shop, begins.Format(time.RFC3339), ends.Format(time.RFC3339), refused)
		shop := `createShop(input: {name: "S", typeId: "U2hvcFR5cGU6MQ", address: %q, location: {lat: 1, lng: 1}, images: %s}) { ` + refused + ` }`
		for _, w := range []write{
			{
				"notes", young, fmt.Sprintf(`publishNote(input: {shopId: %q, title: "", content: "x"}) { %s }`, m.shop, refused),
				fmt.Sprintf(`publishNote(input: {shopId: %q, title: "spam", content: "x"}) { %s }`, m.shop, refused), 2,
			},
			{
				"comments", young, fmt.Sprintf(`addComment(input: {noteId: %q, content: " "}) { %s }`, note, refused),
				fmt.Sprintf(`addComment(input: {noteId: %q, content: "x"}) { %s }`, note, refused), 2,
			},
			{
				"comments on no note", s.As(m.customers[1].token), fmt.Sprintf(`addComment(input: {noteId: "Tm90ZTo5OTk5", content: "x"}) { %s }`, refused),
				fmt.Sprintf(`addComment(input: {noteId: %q, content: "x"}) { %s }`, note, refused), 2,
			},
			{"shops", owner, fmt.Sprintf(shop, "", "[]"), fmt.Sprintf(shop, "1 Street", "[]"), 2},
			{"shops with pictures of others", owner, fmt.Sprintf(shop, "1 Street", `["/media/x"]`), fmt.Sprintf(shop, "1 Street", "[]"), 0},
			{"vouchers", owner, strings.Replace(flash, `"Noon"`, `""`, 1), flash, 2},
			{
				"ordinary vouchers, with flash ones", owner, fmt.Sprintf(`createVoucher(input: {shopId: %q, title: "", payValue: 1, faceValue: 2}) { %s }`, m.shop, refused),
				fmt.Sprintf(`createVoucher(input: {shopId: %q, title: "T", payValue: 1, faceValue: 2}) { %s }`, m.shop, refused), 0,
			},
		} {
			for _, code := range refusals(t, w.as, w.bad, 3) {
				if code == "" || code == "LIMIT_REACHED" {
					t.Errorf("%s: an invalid write got %q", w.name, code)
				}
			}
			want := make([]string, 5)
			for i := w.done; i < len(want); i++ {
				want[i] = "LIMIT_REACHED"
			}
			if d := gocmp.Diff(want, refusals(t, w.as, w.good, 5)); d != "" {
				t.Errorf("%s (-want +got)\n%s", w.name, d)
			}
		}
		// Likes, follows and their removals count only if they change something.
		for _, pair := range [][2]string{
			{fmt.Sprintf(`likeNote(id: %q) { %s }`, note, refused), fmt.Sprintf(`unlikeNote(id: %q) { %s }`, note, refused)},
			{fmt.Sprintf(`follow(userId: %q) { %s }`, m.owner.id, refused), fmt.Sprintf(`unfollow(userId: %q) { %s }`, m.owner.id, refused)},
		} {
			var got []string
			for _, one := range []string{pair[0], pair[0], pair[1], pair[1], pair[0]} {
				got = append(got, refusals(t, young, one, 1)...)
			}
			if d := gocmp.Diff([]string{"", "", "", "", "LIMIT_REACHED"}, got); d != "" {
				t.Errorf("%s (-want +got)\n%s", pair[0], d)
			}
		}
		if n := s.Counter(t, "tandian_quota_refused_total", "kind", "notes"); n != 3 {
			t.Errorf("got %v counted refusals of notes, want 3", n)
		}
	})
}

// Young accounts have a tenth of the limit. 0 is no limit, for them too.
func TestContentLimitsByAge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name               string
		perHour, age, want int
	}{{"young", 50, 0, 5}, {"old", 8, 2, 8}, {"no limit", 0, 0, 10}} {
		t.Run(tt.name, func(t *testing.T) {
			stack := apptest.Embedded(t)
			stack.Config.CommentsPerUser = tt.perHour
			m := openMarket(t, stack, 1)
			created := time.Now().AddDate(0, 0, -tt.age)
			if _, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE users SET created_at = $1", created); err != nil {
				t.Fatal(err)
			}
			s := stack.Start(t)
			note := m.note(t, s.As(m.owner.token), "Tea")
			done := 0
			for _, code := range refusals(t, s.As(m.customers[0].token), fmt.Sprintf(`addComment(input: {noteId: %q, content: "x"}) { userErrors { code message retryAfterSeconds } }`, note), 10) {
				if code == "" {
					done++
				}
			}
			if done != tt.want {
				t.Errorf("got %d comments, want %d", done, tt.want)
			}
		})
	}
}

func TestDemoAccountsAreNotYoung(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	stack.Config.ShopsPerUser = 10
	s := stack.Start(t)
	token, _ := s.LoginWith(t, printedLogin(t, s, "merchant"))
	alias := `createShop(input: {name: "S", typeId: "U2hvcFR5cGU6MQ", address: "1 Street", location: {lat: 1, lng: 1}}) { userErrors { code message retryAfterSeconds } }`
	if d := gocmp.Diff(append(make([]string, 10), "LIMIT_REACHED"), refusals(t, s.As(token), alias, 11)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A cached answer for the user must not reach other viewers.
func TestBirthdayGenderAndRoleArePrivate(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.RateUser, stack.Config.RateAnonymous = 0, 0
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		ann, id := s.Login(t, "13800001111")
		ben, _ := s.Login(t, "13800002222")
		ann.Must(t, `mutation { updateProfile(input: {nickname: "Ann", gender: FEMALE, birthday: "1990-05-05"}) { userErrors { code } } }`, nil, nil)
		note := m.note(t, ann, "Mine")
		ann.Must(t, followUser, map[string]any{"id": m.owner.id}, nil)
		own := map[string]any{"nickname": "Ann", "birthday": "1990-05-05", "gender": "FEMALE", "role": "CUSTOMER"}
		others := map[string]any{"nickname": "Ann", "birthday": nil, "gender": nil, "role": nil}
		const fields = `{ nickname birthday gender role }`
		only := func(all map[string]any, names ...string) map[string]any {
			some := map[string]any{}
			for _, name := range names {
				some[name] = all[name]
			}
			return some
		}
		sees := func(who string, as *apptest.Server, want map[string]any) {
			t.Helper()
			for query, names := range map[string][]string{
				`query Q($id: ID!, $note: ID!) { user(id: $id) ` + fields + ` x: note(id: $note) { id } }`:                               {"nickname", "birthday", "gender", "role"},
				`query Q($id: ID!, $note: ID!) { user: node(id: $id) { ... on User ` + fields + ` } x: note(id: $note) { id } }`:         {"nickname", "birthday", "gender", "role"},
				`query Q($id: ID!, $note: ID!) { user(id: $id) { nickname role } x: note(id: $note) { id } }`:                            {"nickname", "role"}, // has a plan
				`query Q($id: ID!, $note: ID!) { x: user(id: $id) { id } note(id: $note) { author { nickname role } } }`:                 {"nickname", "role"},
				`query Q($id: ID!, $note: ID!) { x: user(id: $id) { id } note(id: $note) { author { nickname role gender birthday } } }`: {"nickname", "birthday", "gender", "role"},
			} {
				for range 3 { // also from caches
					var got struct {
						User map[string]any
						Note struct{ Author map[string]any }
					}
					as.Must(t, query, map[string]any{"id": id, "note": note}, &got)
					user := got.User
					if user == nil {
						user = got.Note.Author
					}
					if d := gocmp.Diff(only(want, names...), user); d != "" {
						t.Errorf("%s, %s (-want +got)\n%s", who, query, d)
					}
				}
			}
		}
		for range 2 {
			sees("the user", ann, own)
			sees("another user", ben, others)
			sees("an administrator", s.As(m.admin.token), others)
			sees("an anonymous client", s, others)
		}
		// Merchants are public, administrators are not.
		for user, want := range map[string]any{m.owner.id: "MERCHANT", m.admin.id: nil} {
			var got struct{ User map[string]any }
			s.Must(t, `query Q($id: ID!) { user(id: $id) { role } }`, map[string]any{"id": user}, &got)
			if got.User["role"] != want {
				t.Errorf("anonymous: got role %v, want %v", got.User["role"], want)
			}
		}
		var followers struct {
			User struct {
				Followers struct {
					Edges []struct{ Node map[string]any }
				}
			}
		}
		s.Must(t, `query Q($id: ID!) { user(id: $id) { followers(first: 5) { edges { node { nickname role } } } } }`, map[string]any{"id": m.owner.id}, &followers)
		if e := followers.User.Followers.Edges; len(e) != 1 || e[0].Node["role"] != nil {
			t.Errorf("got followers %v", e)
		}
	})
}

func TestPicturesOfOthersAreRejected(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		s := stack.Start(t)
		ann, ben, owner := s.As(m.customers[0].token), s.As(m.customers[1].token), s.As(m.owner.token)
		url := uploadURL(t, ann, 30)
		if same := uploadURL(t, ben, 30); same == url {
			t.Error("two users got one URL for the same picture")
		}
		input := func(fields map[string]any) map[string]any { return map[string]any{"input": fields} }
		for name, w := range map[string]struct {
			as    *apptest.Server
			query string
			vars  map[string]any
		}{
			"an avatar":      {ben, `mutation M($input: UpdateProfileInput!) { m: updateProfile(input: $input) { userErrors { code } } }`, input(map[string]any{"avatarUrl": url})},
			"a note":         {ben, `mutation M($input: PublishNoteInput!) { m: publishNote(input: $input) { userErrors { code } } }`, input(map[string]any{"shopId": m.shop, "title": "T", "content": "C", "images": []string{url}})},
			"a new shop":     {owner, `mutation M($input: CreateShopInput!) { m: createShop(input: $input) { userErrors { code } } }`, input(shopInput(map[string]any{"images": []string{url}}))},
			"a changed shop": {owner, `mutation M($input: UpdateShopInput!) { m: updateShop(input: $input) { userErrors { code } } }`, input(map[string]any{"id": m.shop, "images": []string{url}})},
		} {
			var got struct {
				M struct{ UserErrors []apptest.UserError }
			}
			w.as.Must(t, w.query, w.vars, &got)
			if e := got.M.UserErrors; len(e) != 1 || e[0].Code != "IMAGE_REJECTED" {
				t.Errorf("%s: %+v, want IMAGE_REJECTED", name, e)
			}
		}
		// An administrator edits the shop, and its pictures stay those of the merchant.
		mine := uploadURL(t, owner, 31)
		var shop shopAnswer
		owner.Must(t, updateShop, input(map[string]any{"id": m.shop, "images": []string{mine}}), &shop)
		s.As(m.admin.token).Must(t, updateShop, input(map[string]any{"id": m.shop, "images": []string{mine}, "area": "Centre"}), &shop)
		if e := shop.UpdateShop.UserErrors; len(e) > 0 {
			t.Errorf("an administrator edits the shop: got %+v", e)
		}
		var uses int
		if err := s.Components().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM picture_uses WHERE kind = 'SHOP'").Scan(&uses); err != nil || uses != 1 {
			t.Errorf("got %d recorded uses, %v, want 1", uses, err)
		}
	})
}

const deleteImage = `mutation D($url: String!) { deleteImage(url: $url) { deletedUrl userErrors { code field } } }`

// The picture disappears from all objects, in every process.
func TestDeletedImagesLeaveTheirUsages(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := openMarket(t, stack, 2)
		servers := []*apptest.Server{stack.Start(t)}
		if stack.Name == "real" {
			servers = append(servers, stack.Start(t))
		}
		s, last := servers[0], servers[len(servers)-1]
		owner := s.As(m.owner.token) // writes a note and owns the shop
		url, stays := uploadURL(t, owner, 30), uploadURL(t, owner, 31)
		input := func(fields map[string]any) map[string]any { return map[string]any{"input": fields} }
		var made struct {
			PublishNote struct{ Note struct{ ID string } }
		}
		owner.Must(t, publishNote, input(map[string]any{"shopId": m.shop, "title": "T", "content": "C", "images": []string{url, stays}}), &made)
		owner.Must(t, updateShop, input(map[string]any{"id": m.shop, "images": []string{stays, url}}), nil)
		owner.Must(t, `mutation M($input: UpdateProfileInput!) { updateProfile(input: $input) { userErrors { code } } }`, input(map[string]any{"avatarUrl": url}), nil)
		type images []struct{ URL string }
		shown := func(as *apptest.Server) string {
			var got struct {
				Note, Shop struct{ Images images }
				User       struct{ AvatarURL *string }
			}
			as.Must(t, `query Q($note: ID!, $shop: ID!, $user: ID!) { note(id: $note) { images { url } } shop(id: $shop) { images { url } } user(id: $user) { avatarUrl } }`,
				map[string]any{"note": made.PublishNote.Note.ID, "shop": m.shop, "user": m.owner.id}, &got)
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		for _, server := range servers {
			for range 3 { // fills all caches
				if n := strings.Count(shown(server), url); n != 3 {
					t.Fatalf("got the picture %d times before the deletion, want 3", n)
				}
			}
		}
		if c := code(t, s.As(m.customers[0].token).Do(t, deleteImage, map[string]any{"url": url}, nil)); c != "FORBIDDEN" {
			t.Errorf("another user: got %q", c)
		}
		if c := code(t, s.Do(t, deleteImage, map[string]any{"url": url}, nil)); c != "UNAUTHENTICATED" {
			t.Errorf("anonymous: got %q", c)
		}
		var deleted struct {
			DeleteImage struct {
				DeletedURL *string
				UserErrors []apptest.UserError
			}
		}
		s.As(m.admin.token).Must(t, deleteImage, map[string]any{"url": url}, &deleted)
		if d := deleted.DeleteImage; d.DeletedURL == nil || *d.DeletedURL != url || len(d.UserErrors) > 0 {
			t.Fatalf("not deleted: %+v", d)
		}
		gone := fmt.Sprintf(`{"Note":{"Images":[{"URL":%q}]},"Shop":{"Images":[{"URL":%q}]},"User":{"AvatarURL":null}}`, stays, stays)
		if got := shown(s); got != gone {
			t.Errorf("the server of the deletion shows %s", got)
		}
		await(t, 10*time.Second, 10*time.Millisecond, "another server", gone, func() string { return shown(last) })
		if res := get(t, last.URL+url); res.status != 404 {
			t.Errorf("the deleted file: got %d", res.status)
		}
		if res := get(t, last.URL+stays); res.status != 200 {
			t.Errorf("the other file: got %d", res.status)
		}
		owner.Must(t, deleteImage, map[string]any{"url": url}, &deleted)
		if e := deleted.DeleteImage.UserErrors; len(e) != 1 || e[0].Code != "NOT_FOUND" {
			t.Errorf("a second deletion: %+v", e)
		}
	})
}

func TestTextsOfDeletedNotesAreCleared(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Config.Run = []string{"api"} // only the test runs the job
		m := openMarket(t, stack, 1)
		s := stack.Start(t)
		ann := s.As(m.customers[0].token)
		var notes []int64
		for _, title := range []string{"abuse, long ago", "abuse, just now", "kept"} {
			id := m.note(t, ann, title)
			root := m.comment(t, ann, id, nil, "a phone number")
			m.comment(t, ann, id, root, "another number")
			notes = append(notes, number(t, id))
			if title != "kept" {
				ann.Must(t, deleteNote, map[string]any{"id": id}, nil)
			}
		}
		db, ctx := s.Components().DB, t.Context()
		long := time.Now().Add(-stack.Config.DeletedTextRetention - time.Minute).UnixMilli()
		if _, err := db.ExecContext(ctx, "UPDATE notes SET deleted_at = $1 WHERE id = $2", long, notes[0]); err != nil {
			t.Fatal(err)
		}
		hot := dataOf(t, s, `{ hotNotes(first: 10) { edges { node { title content comments(first: 5) { edges { node { content } } } } } } }`, nil)
		texts := func(note int64) (all string) {
			t.Helper()
			rows, err := db.QueryContext(ctx, "SELECT title || content FROM notes WHERE id = $1 UNION ALL SELECT content FROM comments WHERE note_id = $1", note)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					t.Fatal(err)
				}
				all += text
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return all
		}
		for range 2 { // the job may be repeated
			if err := runJob(t, s, "note.deleted-texts"); err != nil {
				t.Fatal(err)
			}
			if left := texts(notes[0]); left != "" {
				t.Errorf("got text %q of the old deleted note", left)
			}
			for _, note := range notes[1:] {
				if left := texts(note); !strings.Contains(left, "a phone number") || !strings.Contains(left, "another number") {
					t.Errorf("got text %q of note %d", left, note)
				}
			}
		}
		if n := s.Counter(t, "tandian_deleted_notes_cleared_total"); n != 1 {
			t.Errorf("got %v counted notes, want 1", n)
		}
		if again := dataOf(t, s, `{ hotNotes(first: 10) { edges { node { title content comments(first: 5) { edges { node { content } } } } } } }`, nil); again != hot {
			t.Errorf("readers see %s, want %s as before", again, hot)
		}
	})
}

// runJob runs a scheduled job once.
func runJob(t *testing.T, s *apptest.Server, name string) error {
	t.Helper()
	for _, job := range s.Components().Schedule().Jobs() {
		if job.Name == name {
			return job.Do(t.Context())
		}
	}
	t.Fatalf("unknown job %q", name)
	return nil
}

// printedLogin returns the credentials of a demo login from the terminal.
func printedLogin(t *testing.T, s *apptest.Server, role string) map[string]any {
	t.Helper()
	for _, l := range printedLogins.FindAllStringSubmatch(s.Out.String(), -1) {
		if l[1] == role {
			return map[string]any{"phone": l[2], "password": l[3]}
		}
	}
	t.Fatalf("no demo login with role %s", role)
	return nil
}

var printedLogins = regexp.MustCompile(`(admin|merchant|customer) +phone (\+\d+) +password (\S+)`)
