package servebench

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql
var statements embed.FS

// writeGoal holds the goals of a mutation. A zero is no goal.
type writeGoal struct {
	rate             float64 // of pgbench's, or of the bare handler's
	p50              float64 // times that of pgbench with one connection
	server, postgres float64 // milliseconds of CPU per call, at most
}

// mutation is one kind of write. Each call writes: no user repeats one.
type mutation struct {
	name        string
	goal        writeGoal
	connections int      // 0: those of the run
	raises      []string // counts of sql/written.sql that a call raises by one
	bare        bool     // compared with a bare handler instead of pgbench
	requests    func(ctx context.Context, round int) ([]request, error)
	called      func(n int) // gets the number of requests that were sent; may be nil
}

// warmRound is the round of the load before the first one.
const warmRound = -1

// manyNotes is the number of notes of "like 3 000 notes".
const manyNotes = 3000

func (w *writes) mutations() []*mutation {
	hot := writeGoal{rate: 0.6, server: 0.30, postgres: 0.25}
	oneShop := writeGoal{rate: 0.5, server: 0.30, postgres: 0.25}
	// A rating or a save moves a shop in the lists: each changed shop is a new entry in most of its
	// indexes. For one shop, all calls of one moment share it.
	allShops := writeGoal{rate: 0.2, server: 0.30, postgres: 0.45}
	liked, saved := []string{"likes of notes", "likes counted"}, []string{"saves of shops", "saves counted"}
	changed := []string{"stars", "stars counted"}
	rated := append([]string{"ratings", "ratings counted"}, changed...)
	return []*mutation{
		{name: "like one note", goal: hot, raises: liked, requests: w.likeOne},
		{name: "like 3 000 notes", goal: hot, raises: liked, requests: w.likeMany},
		{name: "follow one user", goal: hot, raises: []string{"follows", "followers counted", "followees counted"}, requests: w.follow},
		{
			name: "comment on one note", goal: writeGoal{rate: 0.4, server: 0.40, postgres: 0.30},
			raises: []string{"comments", "comments counted"}, requests: w.comment,
		},
		{name: "check in", goal: hot, raises: []string{"check-ins", "check-ins rewarded"}, requests: w.checkIn, called: func(n int) { w.checkedIn += n }},
		{
			name: "publish", goal: writeGoal{rate: 0.4, server: 0.50, postgres: 0.40},
			raises: []string{"notes", "notes counted"}, requests: w.publish,
		},
		{
			name: "like with one connection", goal: writeGoal{p50: 2, server: 0.90, postgres: 0.90}, connections: 1,
			raises: liked, requests: w.likeOne,
		},
		{name: "orderVoucher", goal: writeGoal{rate: 0.15}, bare: true, raises: []string{"orders"}, requests: w.order},
		{name: "rate one shop", goal: oneShop, raises: rated, requests: w.rate(true)},
		{name: "rate all shops", goal: allShops, raises: rated, requests: w.rate(false)},
		{name: "change ratings of one shop", goal: oneShop, raises: changed, requests: w.rateAgain(true)},
		{name: "change ratings of all shops", goal: allShops, raises: changed, requests: w.rateAgain(false)},
		{name: "save one shop", goal: oneShop, raises: saved, requests: w.save(true)},
		{name: "save all shops", goal: allShops, raises: saved, requests: w.save(false)},
	}
}

// done is in every answer without a reason of rejection.
var done = []byte(`"userErrors":[]`) //nolint:gochecknoglobals // a constant that Go cannot say

// each makes a request of each person, with an embedded document.
func (w *writes) each(people []person, name string, variables func(n int) vars) []request {
	text, all := document(name), make([]request, len(people))
	for i, p := range people {
		all[i] = request{wire: wire(w.server, p, text, variables(i)), want: done}
	}
	return all
}

// customers are all people without the administrator and the merchant.
func (w *writes) customers() []person { return w.people[2:] }

// likeOne likes a new note by all customers.
func (w *writes) likeOne(ctx context.Context, _ int) ([]request, error) {
	note, err := w.newNote(ctx)
	if err != nil {
		return nil, err
	}
	return w.each(w.customers(), "like", func(int) vars { return vars{"id": note} }), nil
}

// newNote publishes a note by the merchant.
func (w *writes) newNote(ctx context.Context) (id string, err error) {
	var made struct {
		PublishNote struct {
			Note       struct{ ID string }
			UserErrors []any
		}
	}
	err = w.ask(ctx, w.people[1], document("publish"), vars{"input": w.note(0)}, &made)
	if err == nil && len(made.PublishNote.UserErrors) > 0 {
		err = fmt.Errorf("refused: %v", made.PublishNote.UserErrors)
	}
	if err != nil {
		return "", fmt.Errorf("publish a note: %w", err)
	}
	return made.PublishNote.Note.ID, nil
}

func (w *writes) note(n int) vars {
	return vars{
		"shopId": w.shops[n%len(w.shops)], "title": fmt.Sprintf("Lunch number %d", n),
		"content": "The noodles were hot, the soup was clear, and we waited ten minutes for a table by the window.",
	}
}

// pair is a like, a rating or a save of a user.
type pair struct{ target, user int64 }

// likeMany likes many notes, each by some customers.
func (w *writes) likeMany(ctx context.Context, round int) ([]request, error) {
	if w.liked == nil {
		if err := w.readLiked(ctx); err != nil {
			return nil, err
		}
	}
	var all []request
	text := document("like")
	for i, p := range w.customers() {
		user, err := numberOf(p.ID)
		if err != nil {
			return nil, err
		}
		// 7 is prime to the number of notes, so neighbors like different ones.
		first := int64(i)*7 + int64(round+1)*1009
		for try := range min(10, w.ids.notes) {
			one := pair{w.ids.firstNote + (first+try)%w.ids.notes, user}
			if !w.liked[one] {
				w.liked[one] = true
				id := scalar.ID{Type: "Note", N: one.target}.String()
				all = append(all, request{wire: wire(w.server, p, text, vars{"id": id}), want: done})
				break
			}
		}
	}
	return all, nil
}

// readLiked reads the likes that the town has.
func (w *writes) readLiked(ctx context.Context) error {
	w.liked = map[pair]bool{}
	err := sqldb.Each(ctx, w.db, statement("liked"), []any{w.ids.firstNote, w.ids.lastNote}, func(rows *sql.Rows) error {
		var one pair
		err := rows.Scan(&one.target, &one.user)
		w.liked[one] = true
		return err
	})
	if err != nil {
		return fmt.Errorf("read the likes of the town: %w", err)
	}
	return nil
}

func numberOf(id string) (int64, error) {
	parsed, err := scalar.ParseID(id)
	if err != nil {
		return 0, fmt.Errorf("read the id %q: %w", id, err)
	}
	return parsed.N, nil
}

// follow follows another user in each round, by all customers that do not follow it.
func (w *writes) follow(ctx context.Context, round int) ([]request, error) {
	all := w.customers()
	followee := all[len(all)-2-round]
	number, err := numberOf(followee.ID)
	if err != nil {
		return nil, err
	}
	already := map[int64]bool{number: true}
	err = sqldb.Each(ctx, w.db, statement("followers"), []any{number}, func(rows *sql.Rows) error {
		var user int64
		err := rows.Scan(&user)
		already[user] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the followers of user %d: %w", number, err)
	}
	var people []person
	for _, p := range all {
		n, err := numberOf(p.ID)
		if err != nil {
			return nil, err
		}
		if !already[n] {
			people = append(people, p)
		}
	}
	return w.each(people, "follow", func(int) vars { return vars{"id": followee.ID} }), nil
}

// comment comments on a new note by all customers.
func (w *writes) comment(ctx context.Context, _ int) ([]request, error) {
	note, err := w.newNote(ctx)
	if err != nil {
		return nil, err
	}
	return w.each(w.customers(), "comment", func(n int) vars {
		return vars{"input": vars{"noteId": note, "content": fmt.Sprintf("I was there too, number %d, and the soup was hot.", n)}}
	}), nil
}

// checkIn checks in customers that did not check in during the run. Each round has a part
// of them: a day has one check-in of a user.
func (w *writes) checkIn(_ context.Context, round int) ([]request, error) {
	left := w.customers()[w.checkedIn:]
	left = left[:len(left)/max(1, w.Rounds-max(round, 0))]
	if len(left) == 0 {
		return nil, errors.New("all users have checked in: more --users are needed")
	}
	return w.each(left, "checkin", func(int) vars { return nil }), nil
}

// publish publishes a note by each customer.
func (w *writes) publish(context.Context, int) ([]request, error) {
	return w.each(w.customers(), "publish", func(n int) vars { return vars{"input": w.note(n)} }), nil
}

// order orders a voucher of a new flash sale. The right answer comes after the commit.
func (w *writes) order(ctx context.Context, _ int) ([]request, error) {
	all, err := w.orders(ctx, w.server)
	for i := range all {
		all[i].want = []byte(`"status":"UNPAID"`)
	}
	return all, err
}

// written reads the counts of sql/written.sql.
func (w *writes) written(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := sqldb.Each(ctx, w.db, statement("written"), nil, func(rows *sql.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		counts[name] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what is written: %w", err)
	}
	return counts, nil
}

// checkWritten returns an error unless each call has written its rows, and nothing else.
func (m *mutation) checkWritten(before, after map[string]int64, calls int) error {
	for name, n := range after {
		want := int64(0)
		if slices.Contains(m.raises, name) {
			want = int64(calls)
		}
		if n-before[name] != want {
			return fmt.Errorf("%s: %d calls raised the count of %s by %d, not %d", m.name, calls, name, n-before[name], want)
		}
	}
	return nil
}

// writeResult holds the results of one load of a mutation.
type writeResult struct {
	rate, ratio                float64 // calls a second; ratio to the value that ratioTo names
	p50, p99                   time.Duration
	server, postgres           float64 // milliseconds of CPU per call, during the load
	redis, client              float64 // the same
	laterServer, laterPostgres float64 // the same, in the time after the load
	others                     float64 // processors that other programs used during the load
}

// ratioTo names the value that the ratio of a mutation compares with.
func (m *mutation) ratioTo() string {
	switch {
	case m.bare:
		return "bare POST"
	case m.goal.p50 > 0:
		return "p50 of pgbench -c 1"
	}
	return "pgbench"
}

// verdict returns the goals of a mutation and reports whether a result reaches them.
func (m *mutation) verdict(r *writeResult) (goal, met string) {
	ok := true
	if m.goal.rate > 0 {
		goal, ok = fmt.Sprintf("≥ %.2f", m.goal.rate), r.ratio >= m.goal.rate
	}
	if m.goal.p50 > 0 {
		goal, ok = fmt.Sprintf("≤ %.1f", m.goal.p50), r.ratio <= m.goal.p50
	}
	if m.goal.server > 0 {
		goal += fmt.Sprintf(", %.2f, %.2f", m.goal.server, m.goal.postgres)
		ok = ok && r.server <= m.goal.server && r.postgres <= m.goal.postgres
	}
	if !ok {
		return goal, "NO"
	}
	return goal, "yes"
}

// medianBy returns the round in the middle by a value.
func medianBy(rounds []*writeResult, value func(*writeResult) float64) *writeResult {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b *writeResult) int { return cmp.Compare(value(a), value(b)) })
	return sorted[len(sorted)/2]
}
