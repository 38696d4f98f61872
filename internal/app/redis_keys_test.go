package app_test

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/testkit/keytable"
)

// monitor records the arguments of all commands, also of scripts, that have the prefix of our
// keys. It includes short-lived keys.
type monitor struct {
	end  func()
	keys map[string]bool // valid after end; false for a channel
}

// watchKeys records the commands of a Redis.
func watchKeys(t *testing.T, url string) *monitor {
	t.Helper()
	m := &monitor{keys: map[string]bool{}}
	key, channel := regexp.MustCompile(`"(td:[^"]*)"`), regexp.MustCompile(`(?i)"s?(un)?(publish|subscribe)"`)
	m.end = watchCommands(t, url, func(line string) {
		for _, word := range key.FindAllStringSubmatch(line, -1) {
			known, ok := m.keys[word[1]]
			m.keys[word[1]] = (known || !ok) && !channel.MatchString(line)
		}
	})
	return m
}

// watchCommands calls see with each line of MONITOR, sequentially, until end is called.
func watchCommands(t *testing.T, url string, see func(line string)) (end func()) {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), o.Network, o.Addr)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 8<<20)
	if _, err := conn.Write([]byte("AUTH " + testkit.AdminUser + " any\r\nMONITOR\r\n")); err != nil || !lines.Scan() || !lines.Scan() || lines.Text() != "+OK" {
		t.Fatalf("MONITOR: %v, %q", err, lines.Text())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines.Scan() {
			see(lines.Text())
		}
	}()
	end = func() {
		_ = conn.Close()
		<-done
	}
	t.Cleanup(end)
	return end
}

// TestRedisKeysFollowTheTable uses each field of the API at least once and then checks the
// keys in Redis. All other server tests check their keys at their end: see keytable.
func TestRedisKeysFollowTheTable(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	stack.Config.RedisURL = testkit.RedisAsServer(t, stack.Config.RedisURL) // rejects keys outside the prefix
	stack.Config.TrustedProxies = []string{"127.0.0.1"}
	m := openMarket(t, stack, 3)
	if _, errs, code := stack.Command(t, "import", "../demo/shops.csv"); code != 0 {
		t.Fatal(errs)
	}
	s := stack.Start(t)
	table, seen := keytable.Read(t), watchKeys(t, stack.Config.RedisURL)
	sent := traffic(t, stack, s) + saleTraffic(t, m, s) + noteTraffic(t, m, s) + visitTraffic(t, m, s) + uploadTraffic(t, m, s)
	hub, ok := s.Components().Caches.(*cache.Client)
	if !ok {
		t.Fatal("unexpected type of Caches")
	}
	hub.SaveHotKeys(t.Context()) // otherwise once a minute

	for _, field := range rootFields(t, s) {
		if !regexp.MustCompile(`\b` + field + `\b`).MatchString(sent) {
			t.Errorf("the traffic lacks the field %s", field)
		}
	}
	wrong, err := table.Scan(t.Context(), s.Components().State, "td")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range wrong {
		t.Error(line)
	}
	seen.end()
	used := map[string]bool{}
	for key, is := range seen.keys {
		if !is {
			continue
		}
		row, ok := table.Row("td", key)
		if !ok {
			t.Errorf("the table lacks the used key %s", key)
		}
		used[row.Template] = true
	}
	for _, row := range table {
		if !used[row.Template] {
			t.Errorf("no command used the key %s of the table", row.Template)
		}
	}
	t.Logf("%d keys of %d templates were used", len(seen.keys), len(used))
	if strings.Contains(s.Log.String(), "NOPERM") {
		t.Error("the ACL rejected a command")
	}
	t.Run("the ACL check covers all commands", func(t *testing.T) { wantChecked(t, s) })
	t.Run("redis cat shows no secrets", func(t *testing.T) { catAll(t, stack, s) })
}

// traffic sends all golden documents, and the requests of users and merchants. It returns all
// documents.
func traffic(t *testing.T, stack *apptest.Stack, s *apptest.Server) (sent string) {
	t.Helper()
	files, err := filepath.Glob("../../graph/testdata/*.graphql")
	if err != nil || len(files) < 5 {
		t.Fatalf("got %d golden documents, %v", len(files), err)
	}
	for _, file := range files {
		query, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var variables map[string]any
		if text, err := os.ReadFile(strings.TrimSuffix(file, ".graphql") + ".vars.json"); err == nil {
			if err := json.Unmarshal(text, &variables); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // first from rows, then from caches
			s.Must(t, string(query), variables, nil)
		}
		sent += string(query)
	}
	const phone = "+8613800001111"
	if _, errs, code := stack.Command(t, "grant", phone, "MERCHANT"); code != 0 {
		t.Fatal(errs)
	}
	ask := func(who *apptest.Server, query string, variables map[string]any) {
		t.Helper()
		who.Must(t, query, variables, nil)
		sent += query
	}
	const boss = "+8613800009999"
	if _, errs, code := stack.Command(t, "grant", boss, "ADMIN"); code != 0 {
		t.Fatal(errs)
	}
	admin, _ := s.Login(t, boss)
	ask(admin, `{ cacheStats { name hitRatio } hotKeys(top: 5) { key hits } queueStats { name lag } }`, nil)
	ann, id := s.Login(t, phone)
	sent += " sendLoginCode login " // sent by apptest
	ask(ann, createShop, map[string]any{"input": shopInput(nil)})
	ask(ann, `{ me { id phone shops(first: 5) { edges { node { id name } } } } }`, nil)
	ask(ann, `mutation { checkIn { pointsEarned checkIns { days streak today } } }`, nil)
	ask(ann, `{ me { points checkIns { month count } } }`, nil)
	ask(ann, `query U($id: ID!) { user(id: $id) { nickname } }`, map[string]any{"id": id})
	ask(ann, `query U($id: ID!) { missing: user(id: $id) { nickname } }`, map[string]any{"id": "VXNlcjo5OTk5OTk"})
	ask(ann, `mutation { updateProfile(input: {nickname: "Ann"}) { userErrors { code } } }`, nil)
	sent += deviceTraffic(t, s)
	var mine struct {
		Me struct {
			Shops struct {
				Edges []struct{ Node struct{ ID string } }
			}
		}
	}
	ann.Must(t, `{ me { shops(first: 1) { edges { node { id } } } } }`, nil, &mine)
	ask(ann, `mutation U($input: UpdateShopInput!) { updateShop(input: $input) { userErrors { code } } }`,
		map[string]any{"input": map[string]any{"id": mine.Me.Shops.Edges[0].Node.ID, "name": "Moved", "location": map[string]any{"lat": 30.2, "lng": 120.1}}})
	ask(s, `mutation { login(input: {phone: "`+phone+`", password: "wrong horse"}) { userErrors { code } } }`, nil)
	ask(s, `mutation { sendLoginCode(phone: "+8613800002222") { userErrors { code } } }`, nil) // remains unused
	ben, _ := s.Login(t, "+8613800003333")
	ask(ben, `mutation { logout { userErrors { code } } }`, nil)
	return sent
}

// deviceTraffic sends requests of a browser with cookies, from an IPv6 network. It returns all
// documents.
func deviceTraffic(t *testing.T, s *apptest.Server) (sent string) {
	t.Helper()
	const phone = "+8613800004444"
	cat, _ := browser(t, s.With("X-Forwarded-For", "2001:db8::1"), phone)
	newPassword(t, cat, phone, "correct horse")
	cat.Must(t, mySessions, nil, nil)
	cat.Must(t, `mutation { login(input: {phone: "`+phone+`", password: "wrong horse"}) { userErrors { code } } }`, nil, nil)
	cat.Must(t, endOthers, nil, nil)
	cat.Must(t, endSession, map[string]any{"id": sessionsOf(t, cat)[0].ID}, nil)
	return setPassword + mySessions + endOthers + endSession
}

// saleTraffic sells vouchers of both kinds, and makes all transitions of orders. It returns all
// documents.
func saleTraffic(t *testing.T, m market, s *apptest.Server) (sent string) {
	t.Helper()
	ask := func(as *apptest.Server, query string, variables map[string]any, into any) {
		t.Helper()
		as.Must(t, query, variables, into)
		sent += query
	}
	owner, ann := s.As(m.owner.token), s.As(m.customers[0].token)
	flash, ordinary := m.flash(t, s, 5, -time.Hour, time.Hour), m.ordinary(t, s, true)
	sent += makeFlash + makeVoucher
	crowd, mine := dial(t, s, ""), dial(t, s, m.customers[0].token)
	follow := func(c *socket, query string, variables map[string]any) {
		t.Helper()
		c.follow(t, query, variables)
		sent += query
	}
	follow(crowd, `subscription S($v: ID!) { stockUpdates(voucherId: $v) { stock } }`, map[string]any{"v": flash})
	crowd.becomes(t, `"stock":5`)
	follow(mine, `subscription { orderUpdates { id status } }`, nil)
	feeds := dial(t, s, m.customers[0].token)
	follow(feeds, feedUpdates, nil)
	feeds.becomes(t, "FeedReady")
	buy := func(as *apptest.Server, voucher string) shownOrder {
		t.Helper()
		var p placed
		ask(as, orderVoucher, map[string]any{"v": voucher, "k": rand.Text()}, &p)
		if p.OrderVoucher.Order == nil {
			t.Fatalf("no order: %+v", p.OrderVoucher)
		}
		return *p.OrderVoucher.Order
	}
	do := func(as *apptest.Server, verb, id string) {
		t.Helper()
		if status, code := step(t, as, verb, id); code != "" {
			t.Fatalf("%s: %s %s", verb, status, code)
		}
		sent += " " + verb + "Order "
	}
	const orders = `{ me { orders { edges { node { id status } } } } }`
	first := buy(ann, flash)
	crowd.becomes(t, `"stock":4`)
	mine.becomes(t, first.ID)
	ask(ann, orders, nil, nil)
	do(ann, "cancel", first.ID)
	second, third := buy(ann, flash), buy(ann, ordinary)
	do(ann, "pay", second.ID)
	do(ann, "pay", third.ID)
	do(owner, "redeem", second.ID)
	do(ann, "refund", third.ID)
	ask(ann, orders, nil, nil)
	ask(ann, `query O($id: ID!, $n: String!) { order(id: $id) { status } orderByNumber(number: $n) { status } }`, map[string]any{"id": second.ID, "n": second.Number}, nil)
	ask(s, stockQuery, map[string]any{"v": flash}, nil)
	ask(s, `{ serverTime flashSales { edges { node { id } } } }`, nil, nil)
	ask(s.As(m.admin.token), `query S($id: ID!, $d: Date!) { salesByDay(from: $d, to: $d) { orders } shop(id: $id) { orders { edges { node { id } } } } }`,
		map[string]any{"id": m.shop, "d": time.Now().Format(time.DateOnly)}, nil)
	ask(owner, changeFlash, map[string]any{"input": map[string]any{"id": flash, "stockDelta": 1}}, nil)
	ask(owner, `mutation U($input: UpdateVoucherInput!) { updateVoucher(input: $input) { userErrors { code } } }`,
		map[string]any{"input": map[string]any{"id": ordinary, "title": "Dinner"}}, nil)
	ask(ann, termsOf, map[string]any{"id": third.ID}, nil)
	ask(ann, `mutation D($id: ID!) { disputeRedemption(orderId: $id) { userErrors { code } } }`, map[string]any{"id": second.ID}, nil)
	ask(s.As(m.admin.token), `{ disputedOrders { edges { node { id } } } }`, nil, nil)
	var me struct{ Me struct{ ID string } }
	ask(ann, `{ me { id } }`, nil, &me)
	ask(s.As(m.admin.token), `mutation A($id: ID!) { adjustBalance(userId: $id, amount: 100, reason: "cash") { balance } }`, map[string]any{"id": me.Me.ID}, nil)
	ask(s.As(m.admin.token), `mutation R($id: ID!) { refundDisputedOrder(orderId: $id) { userErrors { code } } }`, map[string]any{"id": second.ID}, nil)
	return sent
}

// noteTraffic sends requests for notes, comments, likes and follows. It returns all documents.
func noteTraffic(t *testing.T, m market, s *apptest.Server) (sent string) {
	t.Helper()
	ann, bob := s.As(m.customers[0].token), s.As(m.customers[1].token)
	ask := func(as *apptest.Server, query string, id string) {
		t.Helper()
		as.Must(t, query, map[string]any{"id": id}, nil)
		sent += query
	}
	note := m.note(t, ann, "Tea")
	comment := m.comment(t, bob, note, nil, "Nice")
	m.comment(t, ann, note, comment, "Thanks")
	sent += publishNote + addComment
	const reads = `{ me { savedShops { edges { cursor } } savedNotes { edges { cursor } } } shopRanking(kind: TRENDING) { edges { cursor } } }`
	for _, query := range []string{
		`mutation R($id: ID!) { rateShop(input: {shopId: $id, stars: 4}) { shop { viewerRating { stars } } userErrors { code } } }`, saveShop,
		reads, deleteRating, unsaveShop, reads,
	} {
		ask(bob, query, m.shop)
	}
	for _, query := range []string{saveNote, reads, unsaveNote, reads} {
		ask(bob, query, note)
	}
	for _, query := range []string{likeNote, unlikeNote, likeNote, noteQuery} {
		ask(bob, query, note)
	}
	for _, verb := range []string{"like", "unlike", "like"} {
		ask(ann, `mutation L($id: ID!) { `+verb+`Comment(id: $id) { comment { isLiked replies { edges { node { id } } } } } }`, comment)
	}
	for _, query := range []string{followUser, unfollow, followUser} {
		ask(ann, query, m.customers[1].id)
	}
	const lists = `{ noteCount notes { edges { node { comments { edges { node { id } } } } } } followers { edges { node { isFollowed } } } followees { edges { node { id } } } commonFollowees { edges { node { id } } } }`
	ask(ann, `query U($id: ID!) { user(id: $id) `+lists+` hotNotes { edges { node { shop { notes { edges { node { id } } } } } } } }`, m.customers[1].id)
	ask(ann, deleteNote, m.note(t, ann, "Milk"))
	ann.Must(t, feedQuery, map[string]any{"first": 10}, nil)
	return sent + feedQuery
}

// uploadTraffic uploads a picture and deletes it. It returns all documents.
func uploadTraffic(t *testing.T, m market, s *apptest.Server) (sent string) {
	t.Helper()
	as := s.As(m.customers[0].token)
	as.Must(t, deleteImage, map[string]any{"url": uploadURL(t, as, 30)}, nil)
	return uploadImage + deleteImage
}

// rootFields returns the fields of Query, Mutation and Subscription.
func rootFields(t *testing.T, s *apptest.Server) (names []string) {
	t.Helper()
	type fields struct{ Fields []struct{ Name string } }
	var schema struct {
		Schema struct{ QueryType, MutationType, SubscriptionType *fields } `json:"__schema"`
	}
	s.Must(t, `{ __schema { queryType { fields { name } } mutationType { fields { name } } subscriptionType { fields { name } } } }`, nil, &schema)
	for _, of := range []*fields{schema.Schema.QueryType, schema.Schema.MutationType, schema.Schema.SubscriptionType} {
		if of != nil {
			for _, f := range of.Fields {
				names = append(names, f.Name)
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("got fields %v", names)
	}
	return names
}

// wantChecked fails unless the ACL check at the start covers each command that the server
// sent.
func wantChecked(t *testing.T, s *apptest.Server) {
	t.Helper()
	// Commands of connections and transactions, and those of this test.
	ignored := []string{"hello", "auth", "client|setname", "multi", "discard", "exec", "monitor", "acl|setuser"}
	admin := testkit.AdminClient(t, s.Components().State)
	text, err := admin.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, m := range regexp.MustCompile(`cmdstat_([a-z_|]+):calls=[1-9]`).FindAllStringSubmatch(text, -1) {
		if slices.Contains(ignored, m[1]) {
			continue
		}
		checked++
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "lacking", "reset", "on", "nopass", "~*", "&*", "+@all", "-"+m[1]).Err(); err != nil {
			t.Fatal(err)
		}
		o := *s.Components().State.(*redis.Client).Options() //nolint:forcetypeassert // not a cluster
		o.Username, o.Password = "lacking", "any"
		lacking := redis.NewClient(&o)
		if err := redisdb.CheckACL(t.Context(), lacking, "td"); err == nil {
			t.Errorf("%s was sent, but CheckACL does not require it", m[1])
		}
		_ = lacking.Close()
	}
	if checked < 40 {
		t.Errorf("got %d checked commands, want at least 40:\n%s", checked, text)
	}
}

// catAll runs redis cat for every key.
func catAll(t *testing.T, stack *apptest.Stack, s *apptest.Server) {
	t.Helper()
	var keys []string
	iter := s.Components().State.Scan(t.Context(), 0, "td:*", 500).Iterator()
	for iter.Next(t.Context()) {
		keys = append(keys, iter.Val())
	}
	if iter.Err() != nil || len(keys) < 20 {
		t.Fatalf("got %d keys, %v", len(keys), iter.Err())
	}
	var secrets testkit.Secrets
	for _, m := range regexp.MustCompile(`login code for \S*: (\d{6})`).FindAllStringSubmatch(s.Out.String(), -1) {
		secrets.Add(m[1])
	}
	nouns := map[string]bool{}
	for _, key := range keys {
		out, errs, code := stack.Command(t, "redis", "cat", key)
		if code != 0 {
			if !strings.Contains(errs, "has no key") { // it expired
				t.Errorf("cat %s: %s", key, errs)
			}
			continue
		}
		nouns[strings.Split(key, ":")[1]] = true
		_, shown, _ := strings.Cut(out, "\n") // without the name, whose hash looks like a token
		for _, line := range secrets.Leaks(shown) {
			t.Errorf("cat %s shows %s", key, line)
		}
	}
	for _, noun := range []string{"cache", "code", "code-limit", "password-tries", "session", "shop"} {
		if !nouns[noun] {
			t.Errorf("got no key of %s", noun)
		}
	}
}
