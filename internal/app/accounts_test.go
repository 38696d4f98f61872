package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/webhook"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const meQuery = `{ me { id nickname phone role } }`

type meAnswer struct {
	Me *struct{ ID, Nickname, Phone, Role string }
}

// me returns the id of the viewer, or "".
func me(t *testing.T, s *apptest.Server) string {
	t.Helper()
	var a meAnswer
	s.Must(t, meQuery, nil, &a)
	if a.Me == nil {
		return ""
	}
	return a.Me.ID
}

// code returns the code of the only error of an answer, or "".
func code(t *testing.T, a apptest.Answer) string {
	t.Helper()
	if len(a.Errors) > 1 {
		t.Errorf("more than one error: %+v", a.Errors)
	}
	for _, e := range a.Errors {
		return e.Extensions.Code
	}
	return ""
}

func TestSessionIsValidOnEveryInstanceUntilLogout(t *testing.T) {
	stack := apptest.Real(t)
	a, b := stack.Start(t), stack.Start(t)
	onA, id := a.Login(t, "13800001111")
	token, again := a.LoginWith(t, map[string]any{"phone": "13800002222", "code": b.Code(t, "13800002222")})
	if me(t, b.As(token)) != again || again == id {
		t.Error("a login on another instance than the one that sent the code made no session")
	}
	onB := onA.OnServer(b)
	for _, s := range []*apptest.Server{onA, onB} {
		var got meAnswer
		s.Must(t, meQuery, nil, &got)
		if got.Me == nil || got.Me.ID != id || got.Me.Phone != "138****1111" || got.Me.Role != "CUSTOMER" || !strings.HasPrefix(got.Me.Nickname, "user_") {
			t.Errorf("got me %+v", got.Me)
		}
	}
	onB.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
	for name, s := range map[string]*apptest.Server{"a": onA, "b": onB} {
		if who := me(t, s); who != "" && name == "b" {
			t.Error("the session is still valid on the instance of the logout")
		}
		testkit.Eventually(t, 10*time.Second, func() bool { return me(t, s) == "" })
		if c := code(t, s.Do(t, `mutation { logout { userErrors { code } } }`, nil, nil)); c != "UNAUTHENTICATED" {
			t.Errorf("a second logout on %s: %q", name, c)
		}
	}
}

func TestEmptyRedisKeepsSessions(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "60", "--shops", "0", "--tokens", path)
	a, b := stack.Start(t), stack.Start(t)
	people := tokens(t, path)
	check := func(when string) {
		t.Helper()
		var all sync.WaitGroup
		for i, p := range people {
			all.Go(func() {
				if who := me(t, []*apptest.Server{a, b}[i%2].As(p.token)); who != p.id {
					t.Errorf("%s: got user %q, want %s", when, who, p.id)
				}
			})
		}
		all.Wait()
	}
	check("at first")
	if err := testkit.AdminClient(t, a.Components().State).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	check("after Redis was emptied")
	time.Sleep(300 * time.Millisecond) // the processes detect it and drop their caches
	check("after a cache drop")
	before := a.Counter(t, "tandian_session_reads_total", "source", "row") + b.Counter(t, "tandian_session_reads_total", "source", "row")
	check("a moment later")
	if after := a.Counter(t, "tandian_session_reads_total", "source", "row") + b.Counter(t, "tandian_session_reads_total", "source", "row"); after != before {
		t.Errorf("%v sessions were read from their rows again", after-before)
	}
	if err := testkit.AdminClient(t, a.Components().State).Do(context.WithoutCancel(t.Context()), "SHUTDOWN", "NOSAVE").Err(); err == nil {
		t.Fatal("Redis is still running")
	}
	check("without Redis")
	one := b.As(people[5].token)
	one.Must(t, `mutation { logout { userErrors { code } } }`, nil, nil)
	if me(t, one) != "" || me(t, a.As(people[5].token)) != "" {
		t.Error("the session is still valid after a logout without Redis")
	}
}

type person struct{ id, role, token string }

// tokens reads a file of seed --tokens.
func tokens(t *testing.T, path string) (people []person) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("got %d fields in a line, want 3", len(f))
		}
		people = append(people, person{f[0], f[1], f[2]})
	}
	return people
}

func TestWrongGuessesStopAtFive(t *testing.T) {
	stack := apptest.Real(t)
	servers := []*apptest.Server{stack.Start(t), stack.Start(t)}
	right := servers[0].Code(t, "13800001111")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			guess := fmt.Sprintf("%06d", i)
			if guess == right {
				guess = "999999"
			}
			body, _ := json.Marshal(map[string]any{"query": `mutation L($c: String!) { login(input: {phone: "13800001111", code: $c}) { token userErrors { code } } }`, "variables": map[string]string{"c": guess}})
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a separate connection
			res, err := client.Post(servers[i%2].URL+"/graphql", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = res.Body.Close() }()
			text, _ := io.ReadAll(res.Body)
			if want := `{"data":{"login":{"token":null,"userErrors":[{"code":"INVALID_CODE"}]}}}`; strings.TrimSpace(string(text)) != want {
				t.Errorf("a wrong guess got %s", text)
			}
		})
	}
	all.Wait()
	compared, unseen := 0.0, 0.0
	for _, s := range servers {
		compared += s.Counter(t, "tandian_logins_total", "method", "code", "outcome", "wrong")
		unseen += s.Counter(t, "tandian_logins_total", "method", "code", "outcome", "dead")
	}
	if compared != 5 || unseen != 5 {
		t.Errorf("%v guesses were compared and %v refused without, want 5 and 5", compared, unseen)
	}
	var late struct {
		Login struct {
			Token      *string
			UserErrors []apptest.UserError
		}
	}
	servers[1].Must(t, `mutation L($c: String!) { login(input: {phone: "13800001111", code: $c}) { token userErrors { code } } }`, map[string]any{"c": right}, &late)
	if late.Login.Token != nil || late.Login.UserErrors[0].Code != "INVALID_CODE" {
		t.Errorf("the right code after five guesses: %+v", late.Login)
	}
}

func TestDemoLoginsArePrintedInEmbeddedModeOnly(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	printed := regexp.MustCompile(`(admin|merchant|customer) +phone (\+\d+) +password (\S+)`)
	before := ""
	for range 2 {
		s := stack.Start(t)
		logins := printed.FindAllStringSubmatch(s.Out.String(), -1)
		if len(logins) != 3 {
			t.Fatalf("the terminal shows\n%s", s.Out)
		}
		if logins[0][3] == before {
			t.Error("the password is the same at the next start")
		}
		for _, l := range logins {
			token, _ := s.LoginWith(t, map[string]any{"phone": l[2], "password": l[3]})
			var who struct {
				Me struct {
					Role  string
					Shops struct {
						Edges []struct{ Node struct{ Name string } }
					}
				}
			}
			s.As(token).Must(t, `{ me { role shops(first: 100) { edges { node { name } } } } }`, nil, &who)
			if strings.ToLower(who.Me.Role) != l[1] {
				t.Errorf("the %s has the role %s", l[1], who.Me.Role)
			}
			if owns := len(who.Me.Shops.Edges) > 50; owns != (l[1] == "merchant") {
				t.Errorf("the %s owns %d shops", l[1], len(who.Me.Shops.Edges))
			}
		}
		before = logins[0][3]
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	public := apptest.Real(t)
	s := public.Start(t)
	users := -1
	if err := public.SQL(t).QueryRowContext(t.Context(), "SELECT count(*) FROM users").Scan(&users); err != nil || users != 0 {
		t.Errorf("got %d users on real stores, %v, want 0", users, err)
	}
	if strings.Contains(s.Out.String(), "password") {
		t.Errorf("on real stores the terminal shows\n%s", s.Out)
	}
}

func TestPrivateFieldsAreHidden(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		ann, annID := s.Login(t, "13800001111")
		ben, _ := s.Login(t, "13800002222")
		ann.Must(t, `mutation { updateProfile(input: {nickname: "Ann", city: "杭州", bio: "a\nb", gender: FEMALE, birthday: "1990-02-28"}) { user { id } userErrors { code } } }`, nil, nil)
		const query = `query U($id: ID!) { user(id: $id) { id nickname phone role city bio gender birthday avatarUrl shops { edges { node { id } } } } node(id: $id) { ... on User { phone } } }`
		type answer struct {
			User map[string]any
			Node map[string]any
		}
		for name, who := range map[string]*apptest.Server{"ann": ann, "ben": ben, "anonymous": s} {
			var got answer
			who.Must(t, query, map[string]any{"id": annID}, &got)
			want := map[string]any{
				"id": annID, "nickname": "Ann", "phone": nil, "role": nil, "city": "杭州", "bio": "a\nb",
				"gender": nil, "birthday": nil, "avatarUrl": nil, "shops": nil,
			}
			if name == "ann" {
				want["role"], want["gender"], want["birthday"] = "CUSTOMER", "FEMALE", "1990-02-28"
				want["phone"], want["shops"] = "138****1111", map[string]any{"edges": []any{}}
			}
			if d := gocmp.Diff(answer{want, map[string]any{"phone": want["phone"]}}, got); d != "" {
				t.Errorf("%s sees (-want +got)\n%s", name, d)
			}
		}
		// Omitted fields stay, null clears.
		var p struct{ UpdateProfile struct{ User map[string]any } }
		ann.Must(t, `mutation { updateProfile(input: {city: null}) { user { nickname city bio phone } } }`, nil, &p)
		if d := gocmp.Diff(map[string]any{"nickname": "Ann", "city": nil, "bio": "a\nb", "phone": "138****1111"}, p.UpdateProfile.User); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

// A login or logout applies to the later fields of its request.
func TestLoginAppliesToItsOwnRequest(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	var got struct {
		Login struct {
			Token string
			User  struct{ Phone *string }
		}
		UpdateProfile struct{ User struct{ Nickname string } }
	}
	s.Must(t, `mutation L($c: String!) { login(input: {phone: "13800001111", code: $c}) { token user { phone } } updateProfile(input: {nickname: "Ann"}) { user { nickname } } }`,
		map[string]any{"c": s.Code(t, "13800001111")}, &got)
	if got.Login.User.Phone == nil || got.UpdateProfile.User.Nickname != "Ann" {
		t.Errorf("got %+v", got.UpdateProfile)
	}
	a := s.As(got.Login.Token).Do(t, `mutation { logout { userErrors { code } } updateProfile(input: {nickname: "Ben"}) { user { nickname } } }`, nil, nil)
	if code(t, a) != "UNAUTHENTICATED" {
		t.Errorf("after the logout: %+v", a)
	}
}

func TestAnonymousClientsGetPublicDataOnly(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		_, id := s.Login(t, "13800001111")
		headers := map[string]string{
			"none": "", "unknown": "Bearer " + strings.Repeat("A", 43), "no token": "Bearer", "another scheme": "Basic YTpi",
			"invalid": "Bearer ../../etc", "endless": "Bearer " + strings.Repeat("A", 16<<10),
		}
		for name, header := range headers {
			with := s.With("Authorization", header)
			got := with.Do(t, `{ me { id } user(id: "`+id+`") { id } shopTypes { __typename } }`, nil, nil)
			if !strings.HasPrefix(string(got.Data), `{"me":null,"user":{"id":"`+id+`"},"shopTypes":[{`) || len(got.Errors) > 0 {
				t.Errorf("%s: %s %v", name, got.Data, got.Errors)
			}
			for _, mutation := range []string{
				`logout { __typename }`, `setPassword(password: "correct horse") { __typename }`, `updateProfile(input: {}) { __typename }`,
				`createShop(input: {name: "x", typeId: "U2hvcFR5cGU6MQ", address: "y", location: {lat: 1, lng: 1}}) { __typename }`,
				`updateShop(input: {id: "U2hvcDox"}) { __typename }`,
			} {
				if c := code(t, with.Do(t, "mutation { "+mutation+" }", nil, nil)); c != "UNAUTHENTICATED" {
					t.Errorf("%s: %s: %q", name, mutation, c)
				}
			}
		}
	})
}

// Proxies log URLs.
func TestTokenInURLIsIgnored(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	ann, id := s.Login(t, "13800001111")
	if me(t, ann) != id {
		t.Fatal("not logged in")
	}
	token, _ := s.LoginWith(t, map[string]any{"phone": "13800002222", "code": s.Code(t, "13800002222")})
	for _, name := range []string{"token", "access_token", "authorization"} {
		u := s.URL + "/graphql?" + url.Values{name: {token}, "query": {"{ me { id } }"}}.Encode()
		res, err := http.Get(u) //nolint:gosec // the test's own server
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if strings.TrimSpace(string(text)) != `{"data":{"me":null}}` {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestGuessesAreOncePerRequest(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	tests := map[string]string{
		"two logins":         `mutation { a: login(input: {phone: "13800001111", code: "1"}) { token } b: login(input: {phone: "13800001111", code: "2"}) { token } }`,
		"two codes":          `mutation { a: sendLoginCode(phone: "1") { expiresInSeconds } b: sendLoginCode(phone: "2") { expiresInSeconds } }`,
		"two passwords":      `mutation { a: setPassword(password: "1") { userErrors { code } } b: setPassword(password: "2") { userErrors { code } } }`,
		"by a fragment":      `mutation { ...F a: login(input: {phone: "1", code: "1"}) { token } } fragment F on Mutation { login(input: {phone: "1", code: "2"}) { token } }`,
		"by inline fragment": `mutation { ... on Mutation { ... { a: login(input: {phone: "1", code: "1"}) { token } } } ... { b: login(input: {phone: "1", code: "2"}) { token } } }`,
	}
	for name, query := range tests {
		if c := code(t, s.Do(t, query, nil, nil)); c != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s: %q", name, c)
		}
	}
	if n := s.Counter(t, "tandian_logins_total"); n != 0 {
		t.Errorf("%v guesses were made", n)
	}
	if c := code(t, s.Do(t, `mutation { login(input: {phone: "1", code: "1"}) { token } sendLoginCode(phone: "1") { userErrors { code } } }`, nil, nil)); c != "" {
		t.Errorf("one of each: %q", c)
	}
}

func TestUsersAreReadInBatches(t *testing.T) {
	stack := apptest.Real(t)
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "100", "--shops", "0", "--tokens", path)
	stack.Config.Run = []string{"api"} // workers read on their own
	s := stack.Start(t)
	awaitIdle(t, s)
	var ids []string
	for _, p := range tokens(t, path) {
		ids = append(ids, p.id)
	}
	const query = `query N($ids: [ID!]!) { nodes(ids: $ids) { ... on User { nickname phone shops(first: 10) { edges { node { id } } } } } }`
	reads := func() (sql, mget float64) {
		sql, mget = s.Counter(t, "tandian_sql_statement_seconds"), s.Counter(t, "tandian_redis_commands_total", "command", "mget")
		s.Must(t, query, map[string]any{"ids": ids}, nil)
		return s.Counter(t, "tandian_sql_statement_seconds") - sql, s.Counter(t, "tandian_redis_commands_total", "command", "mget") - mget
	}
	for _, want := range []float64{1, 0} { // then they are in local memory
		if sql, mget := reads(); sql != want || mget != want {
			t.Errorf("100 users cost %v statements and %v MGET, want %v of each", sql, mget, want)
		}
	}
	// The shops of the viewer are read once per request.
	own := s.As(tokens(t, path)[9].token)
	again := `query N($ids: [ID!]!) { nodes(ids: $ids) { ... on User { shops(first: 1) { edges { node { id } } } } } }`
	vars := map[string]any{"ids": slices.Repeat([]string{tokens(t, path)[9].id}, 30)}
	own.Must(t, again, vars, nil)
	shopsBefore := s.Counter(t, "tandian_sql_statement_seconds")
	own.Must(t, again, vars, nil)
	if n := s.Counter(t, "tandian_sql_statement_seconds") - shopsBefore; n != 1 {
		t.Errorf("30 reads of the viewer's shops: got %v statements, want 1", n)
	}
	// A second request with a token costs no call.
	trips := s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state")
	sql := s.Counter(t, "tandian_sql_statement_seconds")
	as := s.As(tokens(t, path)[7].token)
	as.Must(t, `{ __typename }`, nil, nil) // reads the row
	middle := s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state")
	as.Must(t, `{ __typename }`, nil, nil)
	if n := s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state") - middle; n != 0 {
		t.Errorf("got %v round trips for the viewer, want none", n)
	}
	if n := s.Counter(t, "tandian_sql_statement_seconds") - sql; n != 1 {
		t.Errorf("a session missing in Redis: got %v statements, want 1 (%v round trips)", n, middle-trips)
	}
}

func TestLoginCodesAreDeliveredByWebhook(t *testing.T) {
	t.Parallel()
	const secret = "sixteen bytes or more"
	type delivery struct {
		Phone            string
		Code             string
		ExpiresInSeconds int
	}
	got, refuse := make(chan delivery, 10), make(chan int, 10)
	sms := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var d delivery
		if err := json.Unmarshal(body, &d); err != nil || !webhook.Verify([]byte(secret), body, r.Header.Get("Tandian-Signature")) || r.Method != http.MethodPost {
			t.Errorf("%s %s %v", r.Method, body, err)
		}
		select {
		case status := <-refuse:
			w.WriteHeader(status)
		default:
			got <- d
		}
	}))
	t.Cleanup(sms.Close)
	stack := apptest.Real(t)
	stack.Config.CodeSender, stack.Config.CodeWebhookURL, stack.Config.CodeWebhookSecret = "webhook", sms.URL, secret
	s := stack.Start(t)
	refuse <- http.StatusBadGateway // the first attempt fails
	const send = `mutation S($phone: String!) { sendLoginCode(phone: $phone) { expiresInSeconds userErrors { code } } }`
	s.Must(t, send, map[string]any{"phone": "138 0000-1111"}, nil)
	d := <-got
	if d.Phone != "+8613800001111" || len(d.Code) != 6 || d.ExpiresInSeconds != 300 {
		t.Errorf("delivered: %+v", d)
	}
	token, id := s.LoginWith(t, map[string]any{"phone": "+8613800001111", "code": d.Code})
	if me(t, s.As(token)) != id {
		t.Error("the delivered code does not log in")
	}
	if strings.Contains(s.Out.String(), d.Code) {
		t.Error("the terminal shows the code")
	}
	for range 3 {
		refuse <- http.StatusBadGateway
	}
	if c := code(t, s.Do(t, send, map[string]any{"phone": "13800002222"}, nil)); c != "UNAVAILABLE" {
		t.Errorf("without delivery: got %q, want UNAVAILABLE", c)
	}
}

func TestStartLogsHowCodesAreSent(t *testing.T) {
	t.Parallel()
	const send = `mutation { sendLoginCode(phone: "13800001111") { expiresInSeconds userErrors { code } } }`
	tests := []struct {
		name, sender, warning, code string
		embedded                    bool
	}{
		{"embedded", "", "", "", true},
		{"real stores, default", "", "login codes are not sent", "UNAVAILABLE", false},
		{"real stores, console", "console", "login codes are printed on this terminal", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stack := apptest.Embedded(t)
			if !tt.embedded {
				stack = apptest.Real(t)
			}
			stack.Config.CodeSender = tt.sender
			s := stack.Start(t)
			warned := warnings(t, s)
			if tt.warning == "" && warned != "" || !strings.Contains(warned, tt.warning) {
				t.Errorf("got warnings %q, want %q", warned, tt.warning)
			}
			if c := code(t, s.Do(t, send, nil, nil)); c != tt.code {
				t.Errorf("sendLoginCode: %q, want %q", c, tt.code)
			}
			if printed := strings.Contains(s.Out.String(), "login code for"); printed != (tt.code == "") {
				t.Errorf("code on the terminal: got %v, want %v", printed, !printed)
			}
		})
	}
}

// The limit counts addresses from the trusted proxy, not the proxy itself or forged ones.
func TestLimitsApplyPerClientAddress(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Config.LoginsPerAddress, stack.Config.TrustedProxies = 3, []string{"127.0.0.1"}
	s := stack.Start(t)
	try := func(forwarded string) (code string, retry int) {
		a := s.With("X-Forwarded-For", forwarded).Do(t, `mutation { login(input: {phone: "13800001111", code: "123456"}) { userErrors { code } } }`, nil, nil)
		if len(a.Errors) == 0 {
			return "", 0
		}
		return a.Errors[0].Extensions.Code, a.Errors[0].Extensions.RetryAfterSeconds
	}
	for i := range 3 {
		if c, _ := try(fmt.Sprintf("198.51.100.%d, 192.0.2.1", i)); c != "" {
			t.Errorf("attempt %d: %q", i, c)
		}
	}
	c, retry := try("198.51.100.9, 192.0.2.1")
	if c != "RATE_LIMITED" || retry < 3500 || retry > 3600 {
		t.Errorf("the fourth attempt: %q, retry in %v s", c, retry)
	}
	if c, _ := try("192.0.2.2"); c != "" {
		t.Errorf("another client: %q", c)
	}
}

func TestViewerIsUnknownWithoutDatabase(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	s := stack.Start(t)
	ann, id := s.Login(t, "13800001111")
	if me(t, ann) != id {
		t.Fatal("not logged in")
	}
	if err := testkit.AdminClient(t, s.Components().State).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Components().DB.Close(); err != nil {
		t.Fatal(err)
	}
	// The process knows the viewer until it detects the loss.
	testkit.Eventually(t, 10*time.Second, func() bool { return code(t, ann.Do(t, meQuery, nil, nil)) != "" })
	begin := time.Now()
	if c := code(t, ann.Do(t, meQuery, nil, nil)); c != "UNAVAILABLE" {
		t.Errorf("me: %q, want UNAVAILABLE: null would mean signed out", c)
	}
	if c := code(t, ann.Do(t, `mutation { logout { userErrors { code } } }`, nil, nil)); c != "UNAVAILABLE" {
		t.Errorf("logout: %q", c)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the requests took %v", took)
	}
}

// An installation that moves from the embedded mode to a real Redis disables the demo
// logins.
func TestDemoLoginsEndWithEmbeddedMode(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	s := stack.Start(t)
	password := regexp.MustCompile(`admin .* password (\S+)`).FindStringSubmatch(s.Out.String())[1]
	demo := map[string]any{"phone": "+99900000001", "password": password}
	token, _ := s.LoginWith(t, demo)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	stack.Config.RedisURL = testkit.Redis(t)
	s = stack.Start(t)
	if me(t, s.As(token)) != "" {
		t.Error("the session of the demo administrator is still valid")
	}
	var got struct {
		Login struct{ UserErrors []apptest.UserError }
	}
	s.Must(t, `mutation L($input: LoginInput!) { login(input: $input) { userErrors { code } } }`, map[string]any{"input": demo}, &got)
	if len(got.Login.UserErrors) != 1 || got.Login.UserErrors[0].Code != "INVALID_CREDENTIALS" {
		t.Errorf("the demo administrator's password: %+v", got.Login)
	}
}
