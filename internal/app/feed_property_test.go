package app_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/outboxjob"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Limits for each pair of stores, unless TANDIAN_TEST_FEEDS sets the number of seeds.
const (
	feedTime     = 3 * time.Second
	feedSeeds    = 4   // minimum
	maxFeedSeeds = 40  // maximum, until each kind of event has happened
	feedSteps    = 120 // per seed
)

// Two processes publish, delete, follow, unfollow and read at random. Meanwhile fan-outs
// wait, die and are repeated, authors become celebrities, Redis loses keys, processes
// restart and transactions commit late. Each page must equal the plain query at that time.
//
// TANDIAN_TEST_SEED=n runs one seed. TANDIAN_TEST_FEEDS=200 runs 200 seeds in each pair of
// stores.
func TestFeedPagesEqualThePlainQuery(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed, seeds := testkit.Seed(t), math.MaxInt
		switch text := os.Getenv("TANDIAN_TEST_FEEDS"); {
		case os.Getenv("TANDIAN_TEST_SEED") != "":
			seeds = 1
		case text != "":
			var err error
			if seeds, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
		w := newFeedWorld(t, on)
		ran, began := 0, time.Now()
		more := func() bool {
			return ran < feedSeeds || time.Since(began) < feedTime || ran < maxFeedSeeds && len(w.missing()) > 0
		}
		for ran < seeds && (seeds < math.MaxInt || more()) {
			if !w.run(t, seed+uint64(ran)) { //nolint:gosec // few
				break
			}
			ran++
		}
		t.Logf("%d seeds in %v: %v", ran, time.Since(began).Round(time.Millisecond), w.did)
		if seeds == 1 || t.Failed() {
			return
		}
		for _, what := range w.missing() {
			t.Errorf("no %s, so the test checks too little", what)
		}
	})
}

// feedWorld is a pair of stores, on which seeds run one after another. Each has its own users.
type feedWorld struct {
	on    [2]storetest.Process // of the two processes; the same for embedded stores
	wires [2]*storetest.FaultyRedis
	did   map[string]int // events by kind
}

// missing returns the kinds of events that have not happened yet.
func (w *feedWorld) missing() (kinds []string) {
	for _, what := range []string{
		"notes shown", "pages from inbox", "pages from database", "scrolls ended", "fan-outs killed", "celebrities", "celebrity notes shown", "deleted", "unfollowed", "processes restarted",
	} {
		if w.did[what] == 0 {
			kinds = append(kinds, what)
		}
	}
	return kinds
}

func newFeedWorld(t *testing.T, on storetest.Stores) *feedWorld {
	t.Helper()
	w := &feedWorld{did: map[string]int{}}
	for i := range w.on {
		if i > 0 && w.on[0].Dialect != "postgres" {
			w.on[i], w.wires[i] = w.on[0], w.wires[0]
			continue
		}
		w.on[i], w.wires[i] = storetest.Open(t, on), &storetest.FaultyRedis{}
		w.on[i].Redis.AddHook(w.wires[i])
	}
	return w
}

// feedStory is the state of one seed.
type feedStory struct {
	*feedWorld
	t        *testing.T
	seed     uint64
	draw     *rand.Rand
	isolated bool // processes get no invalidations of local values
	inbox    int  // maximum entries; the larger size exceeds a page and its spare entries
	lively   bool // processes reread finished fan-outs all the time, not only at their start
	ps       [2]*feedProcess
	stops    [2]func()
	people   []int64 // the first have the most followers
	follows  map[[2]int64]bool
	notes    []entry // existing ones
	scrolls  []*scroll
	held     *heldNote
	steps    []string
}

// scroll is a reader who pages through a feed.
type scroll struct {
	user   int64
	size   int
	after  page.Cursor
	below  int64
	shown  map[int64]bool // notes
	always map[int64]bool // notes that were due all the time
}

// heldNote is a note whose transaction has no number yet.
type heldNote struct {
	by     int // process
	author int64
	hold   *hold
	note   *note.Note
	done   chan error
}

// run runs one seed. It reports false if it failed.
func (w *feedWorld) run(t *testing.T, seed uint64) bool {
	t.Helper()
	s := &feedStory{feedWorld: w, t: t, seed: seed, draw: rand.New(rand.NewPCG(seed, 1)), follows: map[[2]int64]bool{}}
	s.isolated, s.lively = s.draw.IntN(2) == 0, s.draw.IntN(4) == 0
	s.inbox = []int{feedSmall.InboxSize, 14}[s.draw.IntN(2)]
	err := s.play(t.Context())
	for i := range s.ps {
		if s.ps[i] != nil {
			s.stop(i)
		}
	}
	if err != nil {
		t.Errorf("TANDIAN_TEST_SEED=%d: %v\nthe last steps:\n%s", seed, err, strings.Join(s.steps[max(0, len(s.steps)-40):], "\n"))
	}
	return err == nil
}

// play runs all steps.
func (s *feedStory) play(ctx context.Context) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	for i := range s.ps {
		s.start(ctx, i)
	}
	if err := s.populate(ctx); err != nil {
		return err
	}
	for range feedSteps {
		if err := s.step(ctx); err != nil {
			return errors.Join(err, s.release())
		}
	}
	return s.end(ctx)
}

// clear removes the data of an earlier seed from Redis and from the outbox. The log of its
// notes continues.
func (s *feedStory) clear(ctx context.Context) error {
	on := s.on[0]
	if _, err := on.DB.OutboxJob.Delete().Exec(ctx); err != nil {
		return err
	}
	return s.unlink(ctx, 1, storetest.Prefix+":")
}

func (s *feedStory) start(ctx context.Context, i int) {
	cfg, caches := feedSmall, cache.Options{}
	cfg.InboxSize = s.inbox
	if s.isolated {
		// Its memory may be as old as the seed, so its log tail covers all deletions.
		caches.LocalBytes, caches.SingleProcess = 4<<20, true
		cfg.LogTailSize = 2 * feedSteps
	}
	p := openFeed(s.t, s.on[i], s.wires[i], caches, outbox.Options{Batch: 1}, cfg)
	p.isolated = s.isolated
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ends := make(chan error, 2)
	runs := 0
	run := func(one func(context.Context) error) {
		runs++
		go func() { ends <- one(ctx) }()
	}
	if s.isolated {
		run(p.hub.Run) // without it, local caches are unused
	}
	if s.lively {
		run(p.Feed.Run)
	}
	s.ps[i] = p
	s.stops[i] = func() {
		stop()
		for range runs {
			if err := <-ends; err != nil {
				s.t.Error(err)
			}
		}
		for from, n := range p.pages(s.t) {
			s.did["pages from "+from] += n
		}
		p.close()
	}
}

func (s *feedStory) stop(i int) { s.stops[i]() }

// populate creates users and notes. User n has about 1/n of the followers of the first.
func (s *feedStory) populate(ctx context.Context) error {
	rows := make([]*ent.UserCreate, 12+s.draw.IntN(9))
	for i := range rows {
		rows[i] = s.on[0].DB.User.Create().SetNickname("a user")
	}
	users, err := s.on[0].DB.User.CreateBulk(rows...).Save(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		s.people = append(s.people, u.ID)
	}
	for range 3 * len(s.people) {
		if err := s.follow(ctx); err != nil {
			return err
		}
	}
	for range 20 {
		if err := s.publish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// known returns a random user, most often one of the first.
func (s *feedStory) known() int64 {
	n := float64(len(s.people))
	return s.people[int(math.Pow(n+1, s.draw.Float64()))-1]
}

func (s *feedStory) anyUser() int64 { return s.people[s.draw.IntN(len(s.people))] }

// writer returns a process that publishes at once, without a held note.
func (s *feedStory) writer() int {
	if s.held != nil {
		return 1 - s.held.by
	}
	return s.draw.IntN(2)
}

func (s *feedStory) step(ctx context.Context) error {
	if s.held != nil && s.draw.IntN(6) == 0 {
		return s.release()
	}
	steps := []struct {
		weight int
		do     func(context.Context) error
	}{
		{22, s.publish},
		{2, s.publishMany},
		{3, s.publishLate},
		{6, s.delete},
		{8, s.follow},
		{6, s.unfollow},
		{4, s.cross},
		{16, s.startReading},
		{26, s.readNext},
		{6, s.fanOut},
		{5, s.kill},
		{2, s.repeat},
		{1, s.loseAll},
		{5, s.loseSome},
		{4, s.expireInbox},
		{2, s.addUser},
		{3, s.restartOne},
	}
	all := 0
	for _, one := range steps {
		all += one.weight
	}
	n := s.draw.IntN(all)
	for _, one := range steps {
		if n -= one.weight; n < 0 {
			return one.do(ctx)
		}
	}
	return nil
}

// chance reports true in weight of a hundred cases.
func (s *feedStory) chance(weight int) bool { return s.draw.IntN(100) < weight }

func (s *feedStory) log(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf("%3d ", len(s.steps))+fmt.Sprintf(format, args...))
}

func (s *feedStory) publish(ctx context.Context) error {
	author := s.known()
	if s.chance(30) {
		author = s.anyUser()
	}
	return s.publishBy(ctx, author)
}

// publishMany publishes up to more notes than fit in an outbox.
func (s *feedStory) publishMany(ctx context.Context) error {
	author := s.known()
	for range 4 + s.draw.IntN(feedSmall.OutboxSize) {
		if err := s.publishBy(ctx, author); err != nil {
			return err
		}
	}
	return nil
}

func (s *feedStory) publishBy(ctx context.Context, author int64) error {
	by := s.writer()
	n, err := s.ps[by].publish(ctx, author)
	if err != nil {
		return err
	}
	s.log("%d: %d publishes %d as number %d", by, author, n.ID, n.Seq)
	s.notes = append(s.notes, entry{n.Seq, n.ID, author})
	return nil
}

// delete deletes a random note, most often a recent one.
func (s *feedStory) delete(ctx context.Context) error {
	if len(s.notes) == 0 {
		return nil
	}
	i, by := len(s.notes)-1-s.draw.IntN(min(len(s.notes), 1+s.draw.IntN(20))), s.draw.IntN(2)
	n := s.notes[i]
	look, err := s.seen(ctx, n)
	if err != nil {
		return err
	}
	s.log("%d: %d deletes %d of number %d", by, n.author, n.id, n.seq)
	if err := s.ps[by].Notes.Delete(ctx, note.Editor{UserID: n.author}, n.id); err != nil {
		return err
	}
	s.notes = slices.Delete(s.notes, i, i+1)
	s.did["deleted"]++
	for _, sc := range s.scrolls {
		delete(sc.always, n.id)
	}
	return look()
}

// seen may show a note to a reader: on the first page, or on a later one. It returns a
// function that reads that page again.
func (s *feedStory) seen(ctx context.Context, n entry) (look func() error, err error) {
	readers, in := s.followersOf(n.author), s.draw.IntN(2)
	for _, sc := range s.scrolls {
		if slices.Contains(readers, sc.user) && sc.below > n.seq && s.chance(50) {
			before := *sc
			before.shown, before.always = map[int64]bool{}, nil
			s.scrolls = append(s.scrolls, &before)
			return func() error { return s.read(ctx, sc, in) }, s.read(ctx, &before, in)
		}
	}
	if len(readers) == 0 || s.chance(30) {
		return func() error { return nil }, nil
	}
	look = func() error { return s.firstOf(ctx, readers[0], in) }
	return look, look()
}

func (s *feedStory) followersOf(author int64) (followers []int64) {
	for _, user := range s.people {
		if s.follows[[2]int64{user, author}] {
			followers = append(followers, user)
		}
	}
	return followers
}

func (s *feedStory) follow(ctx context.Context) error { return s.followBy(ctx, s.anyUser(), s.known()) }

func (s *feedStory) followBy(ctx context.Context, user, author int64) error {
	by := s.draw.IntN(2)
	if user == author {
		return nil
	}
	s.log("%d: %d follows %d", by, user, author)
	s.follows[[2]int64{user, author}] = true
	return s.ps[by].Follows.Follow(ctx, user, author)
}

func (s *feedStory) unfollow(ctx context.Context) error {
	var pairs [][2]int64
	for _, user := range s.people {
		for _, author := range s.people {
			if s.follows[[2]int64{user, author}] {
				pairs = append(pairs, [2]int64{user, author})
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	pair := pairs[s.draw.IntN(len(pairs))]
	return s.unfollowBy(ctx, pair[0], pair[1])
}

func (s *feedStory) unfollowBy(ctx context.Context, user, author int64) error {
	by := s.draw.IntN(2)
	s.log("%d: %d unfollows %d", by, user, author)
	if err := s.ps[by].Follows.Unfollow(ctx, user, author); err != nil {
		return err
	}
	delete(s.follows, [2]int64{user, author})
	s.did["unfollowed"]++
	for _, sc := range s.scrolls {
		for _, n := range s.notes {
			if sc.user == user && n.author == author {
				delete(sc.always, n.id)
			}
		}
	}
	return nil
}

// cross makes an author a celebrity, may undo that, and publishes a note by the author.
func (s *feedStory) cross(ctx context.Context) error {
	author := s.anyUser()
	followers := s.followersOf(author)
	others := slices.DeleteFunc(slices.Clone(s.people), func(user int64) bool { return user == author || slices.Contains(followers, user) })
	for n := len(followers); n < feedSmall.Threshold; n++ {
		if err := s.followBy(ctx, others[n], author); err != nil {
			return err
		}
	}
	for n := len(followers); n >= feedSmall.Threshold && s.chance(50); n-- {
		if err := s.unfollowBy(ctx, followers[n-1], author); err != nil {
			return err
		}
	}
	return s.publishBy(ctx, author)
}

// startReading begins to read a feed.
func (s *feedStory) startReading(ctx context.Context) error {
	return s.firstOf(ctx, s.anyUser(), s.draw.IntN(2))
}

func (s *feedStory) firstOf(ctx context.Context, user int64, by int) error {
	sc := &scroll{user: user, size: 1 + s.draw.IntN(5), below: math.MaxInt64, shown: map[int64]bool{}, always: map[int64]bool{}}
	all, err := due(ctx, s.on[0].DB, sc.user, sc.below)
	if err != nil {
		return err
	}
	for _, n := range all {
		sc.always[n.id] = true
	}
	s.scrolls = append(s.scrolls, sc)
	return s.read(ctx, sc, by)
}

// readNext reads the next page of a feed.
func (s *feedStory) readNext(ctx context.Context) error {
	if len(s.scrolls) == 0 {
		return nil
	}
	return s.read(ctx, s.scrolls[s.draw.IntN(len(s.scrolls))], s.draw.IntN(2))
}

// read reads a page and compares it with the plain query.
func (s *feedStory) read(ctx context.Context, sc *scroll, by int) error {
	s.log("%d: %d reads %d below %d", by, sc.user, sc.size, sc.below)
	want, err := due(ctx, s.on[0].DB, sc.user, sc.below)
	if err != nil {
		return err
	}
	got, info, err := s.ps[by].read(ctx, sc.user, sc.size, sc.after)
	if err != nil {
		return err
	}
	more := len(want) > sc.size
	if d := cmp.Diff(want[:min(len(want), sc.size)], got, cmp.AllowUnexported(entry{})); d != "" {
		return fmt.Errorf("process %d shows user %d a wrong page of %d below %d (-want +got):\n%s", by, sc.user, sc.size, sc.below, d)
	}
	if info.HasNextPage != more || info.HasPreviousPage != (sc.after != "") {
		return fmt.Errorf("process %d, page of user %d: got %+v, want more: %v", by, sc.user, info, more)
	}
	s.did["notes shown"] += len(got)
	for _, n := range got {
		if sc.shown[n.id] {
			return fmt.Errorf("user %d sees note %d a second time", sc.user, n.id)
		}
		sc.shown[n.id] = true
	}
	if !more {
		return s.finish(sc)
	}
	sc.after, sc.below = *info.EndCursor, got[len(got)-1].seq
	return nil
}

// finish ends a scroll, which must have shown all notes that were always due.
func (s *feedStory) finish(sc *scroll) error {
	s.did["scrolls ended"]++
	s.scrolls = slices.DeleteFunc(s.scrolls, func(other *scroll) bool { return other == sc })
	for id := range sc.always {
		if !sc.shown[id] {
			return fmt.Errorf("user %d has read to the end without note %d, which was always due", sc.user, id)
		}
	}
	return nil
}

// fanOut runs all waiting jobs.
func (s *feedStory) fanOut(ctx context.Context) error {
	by := s.draw.IntN(2)
	s.log("%d: runs all jobs", by)
	_, err := s.ps[by].box.Replay(ctx, 0)
	return err
}

// repeat runs all finished fan-outs again.
func (s *feedStory) repeat(ctx context.Context) error {
	by := s.draw.IntN(2)
	s.log("%d: runs all fan-outs again", by)
	_, err := s.on[0].DB.OutboxJob.Delete().Where(outboxjob.TopicNEQ("feed"), outboxjob.DoneAtNotNil()).Exec(ctx)
	if err != nil {
		return err
	}
	_, err = s.ps[by].box.Replay(ctx, time.Minute)
	return err
}

// kill runs jobs until the process dies: before a batch, or between reading the inboxes of
// a batch and writing them.
func (s *feedStory) kill(ctx context.Context) error {
	by, batches := s.draw.IntN(2), int64(s.draw.IntN(4))
	p, cut := s.ps[by], s.chance(40)
	s.log("%d: runs jobs and dies after %d batches, cut off: %v", by, batches, cut)
	ctx, die := context.WithCancel(ctx)
	defer die()
	p.onDeath = die
	p.batches.Store(batches)
	if cut {
		after := func() { p.wire.Down.Store(true); die() }
		p.wire.After.Store(&after)
	}
	_, err := p.box.Replay(ctx, 0)
	p.box.Wait()
	p.wire.After.Store(nil)
	p.wire.Down.Store(false)
	p.batches.Store(-1)
	if ctx.Err() != nil {
		s.did["fan-outs killed"]++
		return nil
	}
	return err
}

// unlink removes a random part, 0 to 1, of the keys with some prefixes.
func (s *feedStory) unlink(ctx context.Context, part float64, prefixes ...string) error {
	keys, err := keysOf(ctx, s.on[0], prefixes...)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(string) bool { return s.draw.Float64() >= part })
	if len(keys) == 0 {
		return nil
	}
	return s.on[0].Redis.Unlink(ctx, keys...).Err()
}

func (s *feedStory) loseAll(ctx context.Context) error {
	s.log("Redis loses everything")
	return s.unlink(ctx, 1, storetest.Prefix+":")
}

func (s *feedStory) loseSome(ctx context.Context) error {
	what := storetest.Prefix + []string{":feed:", ":follow:", ":cache:"}[s.draw.IntN(3)]
	part := []float64{.1, .5, 1}[s.draw.IntN(3)]
	s.log("Redis loses %v of %s", part, what)
	return s.unlink(ctx, part, what)
}

// expireInbox removes an inbox, as if it expired.
func (s *feedStory) expireInbox(ctx context.Context) error {
	user := s.anyUser()
	s.log("the inbox of %d expires", user)
	return s.unlink(ctx, 1, fmt.Sprintf("%s:feed:in:{%d}", storetest.Prefix, user))
}

// addUser creates a user, who reads an empty feed, follows the author of a note and reads
// again.
func (s *feedStory) addUser(ctx context.Context) error {
	u, err := s.on[0].DB.User.Create().SetNickname("a user").Save(ctx)
	if err != nil || len(s.notes) == 0 {
		return err
	}
	s.people = append(s.people, u.ID)
	author := s.notes[s.draw.IntN(len(s.notes))].author // most likely a frequent one
	if err := s.firstOf(ctx, u.ID, s.draw.IntN(2)); err != nil {
		return err
	}
	if err := s.followBy(ctx, u.ID, author); err != nil {
		return err
	}
	return s.firstOf(ctx, u.ID, s.draw.IntN(2))
}

func (s *feedStory) restartOne(ctx context.Context) error {
	s.restart(ctx, s.writer())
	return nil
}

func (s *feedStory) restart(ctx context.Context, by int) {
	s.log("%d: restarts", by)
	s.stop(by)
	s.start(ctx, by)
	s.did["processes restarted"]++
}

// publishLate begins to publish a note, which waits for release before it commits. It does
// nothing on SQLite, whose single writer would block all others.
func (s *feedStory) publishLate(ctx context.Context) error {
	if s.held != nil || s.on[0].Dialect != "postgres" {
		return nil
	}
	h := &heldNote{by: s.draw.IntN(2), author: s.known(), hold: &hold{reached: make(chan struct{}), released: make(chan struct{})}, done: make(chan error, 1)}
	s.log("%d: %d begins to publish", h.by, h.author)
	go func() {
		n, err := s.ps[h.by].publish(context.WithValue(ctx, holdKey{}, h.hold), h.author)
		h.note = n
		h.done <- err
	}()
	select {
	case <-h.hold.reached:
		s.held = h
		return nil
	case err := <-h.done:
		return fmt.Errorf("a note was not held: %w", err)
	}
}

// release commits the held note, if any.
func (s *feedStory) release() error {
	h := s.held
	if h == nil {
		return nil
	}
	close(h.hold.released)
	err := <-h.done
	s.held = nil
	if err != nil {
		return err
	}
	s.log("%d: %d has published %d as number %d", h.by, h.author, h.note.ID, h.note.Seq)
	s.notes = append(s.notes, entry{h.note.Seq, h.note.ID, h.author})
	s.did["published late"]++
	return nil
}

// end reads all feeds to the end, in a new process after all fan-outs.
func (s *feedStory) end(ctx context.Context) error {
	if err := s.release(); err != nil {
		return err
	}
	if err := s.fanOut(ctx); err != nil {
		return err
	}
	by := s.draw.IntN(2)
	s.restart(ctx, by)
	stars, err := s.on[0].DB.FeedStar.Query().IDs(ctx)
	if err != nil {
		return err
	}
	s.did["celebrities"] = len(stars)
	for _, user := range s.people {
		sc := &scroll{user: user, size: 3 + s.draw.IntN(6), below: math.MaxInt64, shown: map[int64]bool{}}
		s.scrolls = append(s.scrolls, sc)
		for slices.Contains(s.scrolls, sc) {
			if err := s.read(ctx, sc, by); err != nil {
				return err
			}
		}
		for _, n := range s.notes {
			if sc.shown[n.id] && slices.Contains(stars, n.author) {
				s.did["celebrity notes shown"]++
			}
		}
	}
	return nil
}
