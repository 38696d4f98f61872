package servebench

import (
	"bytes"
	"context"
	_ "embed" // statements
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

//go:embed sql/pgbench_like.sql
var pgbenchLike []byte

// warmTransactions is the number of transactions after which each connection of pgbench is
// warm. PostgreSQL plans a prepared statement at its first five executions.
const warmTransactions = 6

// minNew is the part of the transactions of pgbench that must write rows.
const minNew = 0.9

// idRanges holds the ids that a load draws from.
type idRanges struct {
	firstUser, lastUser, users int64
	firstNote, lastNote, notes int64
}

// readRanges reads the ids of all users and of the first notes, at most so many.
func (b *bench) readRanges(ctx context.Context, notes int) (r idRanges, err error) {
	row := b.db.QueryRowContext(ctx, statement("ranges"), notes)
	if err := row.Scan(&r.firstUser, &r.lastUser, &r.users, &r.firstNote, &r.lastNote, &r.notes); err != nil {
		return r, fmt.Errorf("read the ids of users and notes: %w", err)
	}
	if r.users != r.lastUser-r.firstUser+1 || r.notes != r.lastNote-r.firstNote+1 {
		return r, errors.New("the ids of users or notes have gaps")
	}
	return r, nil
}

// copyName is the name of a round's copy of the town.
func copyName(round int) string { return "town_" + strconv.Itoa(round) }

// copyTown copies the database once for each round. No other connection may be open.
func copyTown(ctx context.Context, databaseURL string, rounds int) error {
	at, source, err := sibling(databaseURL, "template1")
	if err != nil {
		return err
	}
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: at})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for round := range rounds {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %q", copyName(round), source)); err != nil {
			return fmt.Errorf("copy the town: %w", err)
		}
	}
	return nil
}

// sibling returns the URL of another database of the same server, and the name of the first.
func sibling(databaseURL, name string) (at, source string, err error) {
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		return "", "", fmt.Errorf("read the URL of the database: %w", err)
	}
	source = strings.TrimPrefix(parsed.Path, "/")
	parsed.Path = "/" + name
	return parsed.String(), source, nil
}

// pgbenchRun holds the results of one run, in the time in which all connections were open.
type pgbenchRun struct {
	likes  int // new ones
	all    time.Duration
	took   harness.Samples
	cpu    time.Duration // of PostgreSQL
	client float64       // milliseconds of pgbench per transaction
	others float64       // processors that other programs used
}

// errSlowStart means that pgbench had too little time left when its connections were warm.
var errSlowStart = errors.New("the connections of pgbench opened too slowly")

// pgbench runs the statement of a like on a copy of the town. If the connections open too
// slowly, as on a busy machine, it runs again with more time for that.
func (b *bench) pgbench(ctx context.Context, ids idRanges, round, connections int) (r *pgbenchRun, err error) {
	for try := range 3 {
		opening := (time.Second + time.Duration(connections)*45*time.Millisecond) << try
		seed := b.Town.Seed*1000 + uint64(round*10+try) //nolint:gosec // small numbers
		if connections == 1 {
			seed += 5
		}
		if r, err = b.pgbenchOnce(ctx, ids, round, connections, seed, opening); !errors.Is(err, errSlowStart) {
			break
		}
	}
	return r, err
}

func (b *bench) pgbenchOnce(ctx context.Context, ids idRanges, round, connections int, seed uint64, opening time.Duration) (*pgbenchRun, error) {
	at, _, err := sibling(b.DatabaseURL, copyName(round))
	if err != nil {
		return nil, err
	}
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: at, MaxConns: 1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	before, err := likesIn(ctx, db)
	if err != nil {
		return nil, err
	}
	p, err := b.startPgbench(ctx, at, ids, connections, seed, opening)
	if err != nil {
		return nil, err
	}
	watched, err := b.watchPgbench(ctx, p)
	out, client, times, err2 := p.finish()
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	after, err := likesIn(ctx, db)
	if err != nil {
		return nil, err
	}
	done, err := parsePgbench(out)
	if err != nil {
		return nil, err
	}
	share := float64(after-before) / float64(max(done, 1))
	if share < minNew {
		return nil, fmt.Errorf("pgbench: only %.0f %% of %d likes were new: the town is too small", 100*share, done)
	}
	r := &pgbenchRun{all: watched.to.Sub(watched.from), cpu: watched.postgres, client: millis(client, done)}
	for _, t := range times {
		if t.end.After(watched.from) && !t.end.After(watched.to) {
			r.took = append(r.took, t.took)
		}
	}
	if r.likes = int(share * float64(len(r.took))); r.likes == 0 {
		return nil, fmt.Errorf("pgbench wrote nothing within %v", r.all)
	}
	ours := watched.postgres.Seconds() + r.client/1000*float64(len(r.took))
	r.others = (watched.machine.Seconds() - ours) / r.all.Seconds()
	return r, nil
}

func likesIn(ctx context.Context, db *sqldb.SQL) (n int64, err error) {
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM likes").Scan(&n); err != nil {
		return 0, fmt.Errorf("count the likes: %w", err)
	}
	return n, nil
}

// pgbenchProcess is a pgbench that runs.
type pgbenchProcess struct {
	cmd         *exec.Cmd
	out         *bytes.Buffer
	dir         string
	connections int
	end         time.Time // of its last transaction
}

// startPgbench starts the program. Its time includes the time for opening connections.
func (b *bench) startPgbench(ctx context.Context, databaseURL string, ids idRanges, connections int, seed uint64, opening time.Duration) (*pgbenchProcess, error) {
	program, err := findPgbench()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.Dir, "pgbench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for pgbench: %w", err)
	}
	script := filepath.Join(dir, "like.sql")
	if err := os.WriteFile(script, pgbenchLike, 0o600); err != nil {
		return nil, fmt.Errorf("write the script of pgbench: %w", err)
	}
	dur := wholeSeconds(b.Dur + opening)
	args := []string{
		"-M", "prepared", "-n", "-c", strconv.Itoa(connections), "-j", "1", "-T", strconv.Itoa(int(dur / time.Second)), "-f", script,
		"--random-seed", strconv.FormatUint(seed, 10),
		"-l", "--log-prefix", filepath.Join(dir, "log"),
	}
	for name, n := range map[string]int64{"first_user": ids.firstUser, "last_user": ids.lastUser, "first_note": ids.firstNote, "last_note": ids.lastNote} {
		args = append(args, "-D", name+"="+strconv.FormatInt(n, 10))
	}
	p := &pgbenchProcess{out: &bytes.Buffer{}, dir: dir, connections: connections}
	p.cmd = exec.CommandContext(ctx, program, append(args, databaseURL)...) //nolint:gosec // our own arguments
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = testbed.Environment(), p.out, p.out
	p.end = time.Now().Add(dur)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start pgbench: %w", err)
	}
	return p, nil
}

// wholeSeconds rounds up: pgbench runs for whole seconds.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// watched is the measured part of a run, with the CPU time in it.
type watched struct {
	from, to          time.Time
	postgres, machine time.Duration
}

// watchPgbench waits until all connections are warm, and measures the time behind that.
func (b *bench) watchPgbench(ctx context.Context, p *pgbenchProcess) (w watched, err error) {
	for warm := false; !warm; {
		if warm, err = p.warm(); err == nil && time.Until(p.end) < b.Dur/2 {
			err = errSlowStart
		}
		if err == nil {
			err = pause(ctx, 50*time.Millisecond)
		}
		if err != nil {
			return w, fmt.Errorf("wait for pgbench: %w", err)
		}
	}
	before, err := testbed.CPUOfStores(ctx, b.rdb, b.db)
	if err != nil {
		return w, err
	}
	w.machine, w.from = -testbed.MachineCPU(), time.Now()
	if err := pause(ctx, min(b.Dur, time.Until(p.end)-100*time.Millisecond)); err != nil {
		return w, err
	}
	w.to = time.Now()
	w.machine += testbed.MachineCPU()
	after, err := testbed.CPUOfStores(ctx, b.rdb, b.db)
	w.postgres = after.Since(before).Postgres
	return w, err
}

// warm reports whether each connection has run some transactions.
func (p *pgbenchProcess) warm() (bool, error) {
	all, err := readTransactions(p.dir)
	if err != nil {
		return false, err
	}
	counts := map[int]int{}
	warm := 0
	for _, t := range all {
		if counts[t.client]++; counts[t.client] == warmTransactions {
			warm++
		}
	}
	return warm == p.connections, nil
}

// finish waits for the end of the program. It returns its report, its CPU time and its
// transactions.
func (p *pgbenchProcess) finish() (report string, cpu time.Duration, all []transaction, err error) {
	if err := p.cmd.Wait(); err != nil {
		return "", 0, nil, fmt.Errorf("run pgbench: %w: %s", err, p.out)
	}
	all, err = readTransactions(p.dir)
	return p.out.String(), p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime(), all, err
}

// findPgbench finds the program next to postgres, or on PATH.
func findPgbench() (string, error) {
	postgres, _, err := subprocess.FindPostgres()
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(postgres), "pgbench")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if program, err = exec.LookPath("pgbench"); err != nil {
		return "", fmt.Errorf("find pgbench next to postgres or on PATH: %w", err)
	}
	return program, nil
}

// transaction is one transaction of pgbench.
type transaction struct {
	client int
	end    time.Time
	took   time.Duration
}

// readTransactions reads the logs of a run. A line that is not complete yet is left out.
func readTransactions(dir string) (all []transaction, err error) {
	logs, _ := filepath.Glob(filepath.Join(dir, "log*")) // the pattern is good
	for _, path := range logs {
		text, err := os.ReadFile(path) //nolint:gosec // pgbench wrote it
		if err != nil {
			return nil, fmt.Errorf("read the log of pgbench: %w", err)
		}
		for line := range strings.Lines(string(text[:bytes.LastIndexByte(text, '\n')+1])) {
			t, err := parseTransaction(line)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// parseTransaction reads a line of the log: client, number, microseconds, script, and the
// end as seconds and microseconds since 1970.
func parseTransaction(line string) (t transaction, err error) {
	var number, script int
	var took, seconds, micros int64
	if _, err := fmt.Sscan(line, &t.client, &number, &took, &script, &seconds, &micros); err != nil {
		return t, fmt.Errorf("read the log of pgbench: %w: %.100q", err, line)
	}
	t.end, t.took = time.Unix(seconds, micros*1000), time.Duration(took)*time.Microsecond
	return t, nil
}

var (
	pgbenchDone   = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`) //nolint:gochecknoglobals // a constant that Go cannot say
	pgbenchFailed = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)             //nolint:gochecknoglobals // the same
)

// parsePgbench reads the number of transactions from the report of a run.
func parsePgbench(report string) (done int, err error) {
	counted := pgbenchDone.FindStringSubmatch(report)
	if counted == nil {
		return 0, fmt.Errorf("read the report of pgbench: %s", report)
	}
	if failed := pgbenchFailed.FindStringSubmatch(report); failed != nil && failed[1] != "0" {
		return 0, fmt.Errorf("pgbench: %s transactions failed", failed[1])
	}
	return strconv.Atoi(counted[1])
}

// dropCopy deletes a round's copy.
func (b *bench) dropCopy(ctx context.Context, round int) error {
	if _, err := b.db.ExecContext(ctx, "DROP DATABASE "+copyName(round)); err != nil {
		return fmt.Errorf("drop a copy of the town: %w", err)
	}
	return nil
}

// statement returns an embedded statement by its name.
func statement(name string) string {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // callers name existing files
	}
	return sqldb.Statement(string(text))
}
