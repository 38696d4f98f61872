package app_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// serverEnv contains the settings of a server process of this test.
const serverEnv = "TANDIAN_TEST_SERVER"

// serve runs a server until it is killed or its parent ends.
func serve(text string) error {
	var cfg config.Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	a, err := app.New(&cfg, observe.NewLogger(os.Stderr, "json", slog.LevelInfo), io.Discard)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return a.Run(ctx)
}

// process is a server that a test kills.
type process struct {
	cmd      *exec.Cmd
	lifeline io.Closer
	output   bytes.Buffer // read it after the end of the process
}

// startProcess starts a server, which ends with the test at the latest.
func startProcess(t *testing.T, cfg config.Config) *process {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if p.lifeline, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.kill(t)
		}
		if t.Failed() {
			t.Logf("output of a process:\n%s", p.output.String())
		}
	})
	return p
}

// kill ends the process by SIGKILL. The test fails if the process had already ended.
func (p *process) kill(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.lifeline.Close()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("the process was not killed: %v", p.cmd.ProcessState)
	}
}

// addFollowers inserts size new followers of an author and updates the counters. It returns the ids
// of the follows by follower.
func addFollowers(t *testing.T, db *sql.DB, author int64, size int) map[int64]int64 {
	t.Helper()
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{`INSERT INTO users (external_id, nickname, followee_count, created_at, updated_at) SELECT 'crowd:' || n, 'Crowd', 1, now(), now() FROM generate_series(1, $1::int) AS n`, []any{size}},
		{`INSERT INTO follows (follower_id, followee_id, since_seq, created_at)
			SELECT u.id, $1, (SELECT seq FROM feed_head), 1 FROM users AS u WHERE u.external_id LIKE 'crowd:%' ORDER BY u.id`, []any{author}},
		{`UPDATE users SET follower_count = follower_count + $2, version = version + 1 WHERE id = $1`, []any{author, size}},
		{`ANALYZE follows, users`, nil},
	} {
		if _, err := db.ExecContext(t.Context(), step.statement, step.args...); err != nil {
			t.Fatal(err)
		}
	}
	follows := make(map[int64]int64, size)
	rows, err := db.QueryContext(t.Context(), "SELECT follower_id, id FROM follows WHERE followee_id = $1", author)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var follower, id int64
		if err := rows.Scan(&follower, &id); err != nil {
			t.Fatal(err)
		}
		follows[follower] = id
	}
	if err := rows.Err(); err != nil || len(follows) != size {
		t.Fatalf("got %d followers, %v, want %d", len(follows), err, size)
	}
	return follows
}

// pipelined sends commands about users, thousands in each round trip.
func pipelined(t *testing.T, rdb redis.UniversalClient, users map[int64]int64, commands func(pipe redis.Pipeliner, user, follow int64)) {
	t.Helper()
	pipe := rdb.Pipeline()
	flush := func() {
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for user, follow := range users {
		if commands(pipe, user, follow); pipe.Len() >= 3000 {
			flush()
		}
	}
	flush()
}

// gate blocks the transaction in which a fan-out stores its progress, beyond a number of
// followers. It records all progress.
type gate struct {
	db   *sql.DB
	conn *sql.Conn // holds the lock of the gate
}

const gateLock = 20261123

func newGate(t *testing.T, db *sql.DB) *gate {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{db, conn}
	t.Cleanup(func() { _ = conn.Close() })
	g.exec(t, `CREATE TABLE gate (stop bigint NOT NULL)`)
	g.exec(t, `CREATE TABLE progress (id bigserial PRIMARY KEY, pushed bigint NOT NULL, below bigint NOT NULL)`)
	g.exec(t, `CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.pushed > (SELECT stop FROM gate) THEN PERFORM pg_advisory_xact_lock_shared(`+strconv.Itoa(gateLock)+`); END IF;
		INSERT INTO progress (pushed, below) VALUES (NEW.pushed, NEW.below);
		RETURN NULL;
	END $$`)
	g.exec(t, `CREATE TRIGGER gate AFTER INSERT OR UPDATE ON fan_outs FOR EACH ROW EXECUTE FUNCTION gate()`)
	if _, err := conn.ExecContext(t.Context(), "SELECT pg_advisory_lock($1)", gateLock); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gate) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := g.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

const atGate = " FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = 20261123 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

// awaitBlocked waits until a fan-out is blocked at the gate.
func (g *gate) awaitBlocked(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, 60*time.Second, func() bool {
		var n int
		if err := g.db.QueryRowContext(t.Context(), "SELECT count(*)"+atGate).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
}

// drop ends the blocked connections, as Postgres does for a dead process.
func (g *gate) drop(t *testing.T) {
	t.Helper()
	g.exec(t, "SELECT pg_terminate_backend(pid)"+atGate)
	testkit.Eventually(t, 20*time.Second, func() bool {
		var n int
		return g.db.QueryRowContext(t.Context(), "SELECT count(*)"+atGate).Scan(&n) == nil && n == 0
	})
}

// Two processes are killed while they push a note to 49 000 inboxes. A third completes the
// fan-out and repeats no stored batch. Followers see the note even before its push.
func TestFanOutCompletesAfterTwoKills(t *testing.T) {
	testkit.SkipIfShort(t)
	t.Parallel()
	const followers, batch = 49_000, 1000
	stack := apptest.Real(t)
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	m := openMarket(t, stack, 1)
	workers := stack.Config
	workers.Run = []string{"workers"}
	stack.Config.Run = []string{"api"}
	s := stack.Start(t)
	s.Recovered(t)
	db, author := stack.SQL(t), number(t, m.customers[0].id)
	rdb, err := subprocess.OpenPatient(stack.Config.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })

	users := addFollowers(t, db, author, followers+1)
	queue := slices.SortedFunc(maps.Keys(users), func(a, b int64) int { return cmp.Compare(users[b], users[a]) }) // pushes begin with the newest follow
	last, inactive := queue[followers], queue[rnd.IntN(followers)]                                                // inactive has no inbox
	active := maps.Clone(users)
	delete(active, inactive)
	inbox := func(user int64) string { return fmt.Sprintf("td:feed:in:{%d}", user) }
	const life = 14 * 24 * time.Hour
	pipelined(t, rdb, active, func(pipe redis.Pipeliner, user, follow int64) {
		pipe.Do(t.Context(), "ZADD", inbox(user), "-inf", "")
		pipe.PExpire(t.Context(), inbox(user), life)
		pipe.Set(t.Context(), inbox(user)+":s", follow, life)
	})

	g := newGate(t, db)
	first := batch * (5 + rnd.Int64N(15))
	second := first + batch*(1+rnd.Int64N(25))
	g.exec(t, "INSERT INTO gate VALUES ($1)", first)
	made, err := s.Components().Notes.Publish(t.Context(), author, note.Draft{ShopID: number(t, m.shop), Title: "Tea", Content: "Good tea."})
	if err != nil {
		t.Fatal(err)
	}
	var seq float64
	if err := db.QueryRowContext(t.Context(), "SELECT seq FROM notes WHERE id = $1", made.ID).Scan(&seq); err != nil {
		t.Fatal(err)
	}
	member := fmt.Sprintf("%d/%d", author, made.ID)
	seen := func(when string, user int64) {
		t.Helper()
		p, err := s.Components().Feed.Page(t.Context(), user, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Edges) != 1 || p.Edges[0].Note.(*note.Note).ID != made.ID {
			t.Errorf("%s: user %d sees %d notes, want 1", when, user, len(p.Edges))
		}
	}
	progress := func() (pushed, below int64) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT pushed, below FROM fan_outs WHERE id = $1", made.ID).Scan(&pushed, &below); err != nil {
			t.Fatal(err)
		}
		return pushed, below
	}
	var before int64
	for i, stop := range []int64{first, second} {
		p := startProcess(t, workers)
		g.awaitBlocked(t)
		pushed, _ := progress()
		if pushed != stop {
			t.Errorf("process %d is blocked at %d, want %d", i, pushed, stop)
		}
		seen(fmt.Sprintf("while process %d is blocked", i), last)
		if n := rdb.ZCard(t.Context(), inbox(last)).Val(); n != 1 {
			t.Errorf("got %d members in the last inbox, want 1", n)
		}
		for _, user := range queue[stop : stop+batch] { // their push precedes the progress
			if n := rdb.ZCard(t.Context(), inbox(user)).Val(); n != 2 && user != inactive {
				t.Errorf("while process %d is blocked, an inbox of its batch has %d members, want 2", i, n)
				break
			}
		}
		p.kill(t)
		g.drop(t)
		now, below := progress()
		if now != pushed || i > 0 && below >= before {
			t.Errorf("process %d left %d done, below %d; it was blocked at %d, the previous one left %d", i, now, below, pushed, before)
		}
		before = below
		g.exec(t, "UPDATE gate SET stop = $1", map[int]int64{0: second, 1: 10 * followers}[i])
	}
	startProcess(t, workers)
	testkit.Eventually(t, 60*time.Second, func() bool {
		return countOf(t, s, "SELECT count(*) FROM outbox_jobs WHERE topic = 'feed' AND done_at IS NULL") == 0
	})
	if n := countOf(t, s, "SELECT count(*) FROM fan_outs"); n != 0 {
		t.Errorf("%d fan-outs are pending, want none", n)
	}

	// Each batch was stored once, and each continues below the previous one.
	var steps, wrong int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*), count(*) FILTER (WHERE pushed <> $1 * nth OR below >= above)
		FROM (SELECT pushed, below, row_number() OVER w AS nth, lag(below, 1, 9223372036854775807) OVER w AS above FROM progress WINDOW w AS (ORDER BY id)) AS s`, batch).Scan(&steps, &wrong); err != nil {
		t.Fatal(err)
	}
	if steps != followers/batch || wrong > 0 {
		t.Errorf("got %d batches, %d of them out of order, want %d", steps, wrong, followers/batch)
	}

	if n := rdb.Exists(t.Context(), inbox(inactive), inbox(inactive)+":s").Val(); n != 0 {
		t.Error("a user without an inbox got one")
	}
	scores, members := map[int64]*redis.FloatCmd{}, map[int64]*redis.IntCmd{}
	pipelined(t, rdb, active, func(pipe redis.Pipeliner, user, _ int64) {
		scores[user], members[user] = pipe.ZScore(t.Context(), inbox(user), member), pipe.ZCard(t.Context(), inbox(user))
	})
	missing := 0
	for user := range active {
		if scores[user].Val() != seq || members[user].Val() != 2 { // the note and the mark
			missing++
		}
	}
	if missing > 0 || len(scores) != followers {
		t.Errorf("%d of %d inboxes are wrong", missing, len(scores))
	}
	seen("in the end", last)
	seen("in the end", inactive)
	pipelined(t, rdb, active, func(pipe redis.Pipeliner, user, _ int64) { // tests check all remaining keys
		pipe.Unlink(t.Context(), inbox(user), inbox(user)+":s")
	})
}
