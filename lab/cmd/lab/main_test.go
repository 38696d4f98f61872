package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/cli"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) {
	cli.Prepare()
	if len(os.Args) > 1 && os.Args[1] == "process" { // a command of a test started it
		os.Exit(run(context.Background(), os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// command runs a command as main does.
func command(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"lab"}, args...), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

func TestWrongCallsAreRefusedBeforeAServerStarts(t *testing.T) {
	for _, tt := range []struct {
		name string
		args string
		want string
	}{
		{"unknown command", "bnch", `unknown command "bnch"`},
		{"unknown bench", "bench sales", `unknown command "sales"`},
		{"an argument too many", "bench sale all", `unexpected argument "all"`},
		{"unknown flag", "bench sale --colour red", "colour"},
		{"cache, unknown table", "bench cache --only strategies", `unknown table "strategies"`},
		{"sale, unknown table", "bench sale --only anomalies", `unknown table "anomalies"`},
		{"sale, even rounds", "bench sale --rounds 2", "an odd number"},
		{"sale, no time", "bench sale --each 0s", "at least 10ms"},
		{"sale, no scene", "bench sale --times 0", "--times must be at least 1"},
		{"sale, too few users", "bench sale --users 10", "--users must be at least 1000"},
		{"lock, unknown table", "bench lock --only stale", `unknown table "stale"`},
		{"lock, no round", "bench lock --rounds 0", "--rounds must be at least 1"},
		{"lock, no waiter", "bench lock --waiters 0", "--waiters must be at least 1"},
		{"queue, unknown table", "bench queue --only stale", `unknown table "stale"`},
		{"queue, too few messages", "bench queue --messages 99", "at least 100"},
		{"queue, no round", "bench queue --rounds 0", "--rounds must be at least 1"},
		{"sequence, unknown table", "bench sequence --only stale", `unknown table "stale"`},
		{"sequence, no round", "bench sequence --rounds 0", "--rounds must be at least 1"},
		{"live, unknown table", "bench live --only anomalies", `unknown table "anomalies"`},
		{"live, no round", "bench live --rounds 0", "--rounds must be at least 1"},
		{"live, no time", "bench live --dur 0s", "at least 100ms"},
		{"live, one subscriber", "bench live --n 1", "2 to 9000"},
		{"live, no number", "bench live --n many", "2 to 9000"},
		{"live, no subscriber", "bench live --n ,", "needs a number"},
		{"visits, too few", "bench visits --visitors 999", "at least 1000"},
		{"notes, no client", "bench notes --clients 0", "--clients must be at least 1"},
		{"redis-delete without a Redis", "bench redis-delete", "--redis-url is required"},
		{"redis-delete, no members", "bench redis-delete --members 0 --redis-url redis://127.0.0.1:1", "--members must be at least 1"},
		{"shops, wrong setting", "bench shops --database-url mysql://root@host/db", "must begin with postgres://"},
		{"serve, --at without tokens", "bench serve --at http://localhost", "--at needs --tokens"},
		{"writes, unknown operation", "bench writes --only swim", `unknown operation "swim"`},
		{"writes, no round", "bench writes --rounds 0", "--rounds and --connections must be at least 1"},
		{"filters, too few shops", "bench filters --shops 99", "--shops must be at least 10000"},
		{"filters, no page", "bench filters --pages 0", "--pages at least 1"},
		{"ratings, too short", "ratings --dur 1ms", "--dur must be at least 1s"},
		{"soak, too short", "soak --dur 1s", "--dur must be at least 5s"},
		{"soak, unknown fault", "soak --faults fire", `unknown fault "fire"`},
		{"cluster, unknown scenario", "cluster fire", `unknown scenario "fire"`},
		{"unknown mutants", "mutants water", `unknown command "water"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := command(t, strings.Fields(tt.args)...)
			if code != 2 || out != "" || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d, %q, %q; want 2 and %q", code, out, errs, tt.want)
			}
		})
	}
}

// Pages name commands and flags that exist.
func TestPagesNameExistingCommands(t *testing.T) {
	list := exec.CommandContext(t.Context(), "git", "ls-files", "*.md")
	list.Dir = "../../.."
	pages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]bool{}
	for page := range strings.FieldsSeq(string(pages)) {
		for _, found := range regexp.MustCompile("`lab ([a-z][^`]*)`").FindAllStringSubmatch(read(t, filepath.Join("../../..", page)), -1) {
			if found[1] == "bench NAME" || checked[found[1]] {
				continue
			}
			checked[found[1]] = true
			words, flags, _ := strings.Cut(found[1], " --")
			out, errs, code := command(t, append(strings.Fields(words), "--help")...)
			if code != 0 || errs != "" || !strings.Contains(out, "\n  lab "+words+" ") && !strings.Contains(out, "\n  lab "+words+"\n") {
				t.Errorf("%s: lab %s: exit %d, %s", page, words, code, errs)
			}
			for _, flag := range regexp.MustCompile(`(?:^|--)([a-z][a-z-]*)`).FindAllStringSubmatch(flags, -1) {
				if !regexp.MustCompile(`(?m)^ .*--` + flag[1] + `\b`).MatchString(out) {
					t.Errorf("%s: lab %s has no flag --%s", page, words, flag[1])
				}
			}
		}
	}
	if len(checked) < 20 {
		t.Errorf("the pages name %d commands", len(checked))
	}
}

func TestHelpListsTheCommands(t *testing.T) {
	for args, want := range map[string][]string{
		"--help":         {"bench", "fault", "live", "ratings", "soak", "cluster", "mutants"},
		"":               {"bench", "fault", "live", "ratings", "soak", "cluster", "mutants"},
		"bench --help":   {"serve", "writes", "cache", "lock", "sale", "queue", "sequence", "live", "notes", "feed", "paging", "feedsim", "visits", "shops", "filters", "redis", "redis-delete"},
		"mutants":        {"fault", "live"},
		"cluster --help": {"cluster, sentinel, sync, async"},
	} {
		out, errs, code := command(t, strings.Fields(args)...)
		if code != 0 || errs != "" {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
		for _, word := range want {
			if !regexp.MustCompile(`(?m)^ .*\b` + word + `\b`).MatchString(out) {
				t.Errorf("%q lacks %q:\n%s", args, word, out)
			}
		}
		checkWidth(t, args, out)
		if strings.Contains(out, "process ") {
			t.Errorf("%q shows the hidden processes:\n%s", args, out)
		}
	}
}

// checkWidth fails the test if a line of a help has more than 100 columns.
func checkWidth(t *testing.T, args, help string) {
	t.Helper()
	for line := range strings.Lines(help) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 100 {
			t.Errorf("%q: longer than 100 columns: %s", args, line)
		}
	}
}

func TestHelpOfEachCommandFitsInto100Columns(t *testing.T) {
	c := &commands{cfg: config.Default(), log: slog.New(slog.DiscardHandler), stdout: io.Discard, stderr: io.Discard}
	commands := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		commands++
		path := strings.Fields(cmd.CommandPath())[1:]
		args := append([]string{"help"}, path...)
		if !cmd.DisableFlagParsing {
			args = slices.Concat(path, []string{"--help"})
		}
		out, errs, code := command(t, args...)
		if code != 0 || errs != "" || !strings.Contains(out, "\n  "+cmd.CommandPath()) {
			t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
		}
		checkWidth(t, strings.Join(args, " "), out)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	if walk(c.root()); commands < 25 {
		t.Errorf("got %d commands, want at least 25", commands)
	}
}

func TestBenchesReadSettingsFromTheEnvironment(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://127.0.0.1:1")
	if _, errs, code := command(t, "bench", "redis-delete", "--members", "1"); code != 1 || !strings.Contains(errs, "reach Redis") {
		t.Errorf("REDIS_URL: exit %d, %s", code, errs)
	}
	t.Setenv("DATABASE_URL", "mysql://root@host/db")
	if _, errs, code := command(t, "bench", "shops", "--data-dir", t.TempDir()); code != 2 || !strings.Contains(errs, "must begin with postgres://") {
		t.Errorf("DATABASE_URL: exit %d, %s", code, errs)
	}
}

// A bench starts this program as its processes. With a wrong name, they would run benches too.
func TestProcessesReadTheirSettingFirst(t *testing.T) {
	for _, name := range []string{"cache", "lock", "sale", "live", "serve", "soak"} {
		_, errs, code := command(t, "process", name)
		if code != 1 || !strings.Contains(errs, "read setting") {
			t.Errorf("process %s without input: exit %d, %q", name, code, errs)
		}
	}
}

func TestBenchShopsRunsEveryQuery(t *testing.T) {
	out, errs, code := command(t, "bench", "shops", "--data-dir", t.TempDir())
	if code != 0 {
		t.Fatalf("bench shops: %d, %s", code, errs)
	}
	for _, row := range []string{"GET /healthz", "near, 1 km", "40 km deep", "nearest 1000", "search 火锅"} {
		if !regexp.MustCompile(regexp.QuoteMeta(row) + `[^\n]* \d+\.\d\d +\d+\.\d\d +\d+\.\d`).MatchString(out) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
}

// Every method is measured, and no key remains.
func TestBenchRedisDeleteLeavesNothing(t *testing.T) {
	url := testkit.Redis(t)
	out, errs, code := command(t, "bench", "redis-delete", "--members", "12345", "--redis-url", url)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, row := range []string{
		"no deletion", "hash, DEL", "hash, expiry", "hash, UNLINK", "hash, DeleteLarge", "zset, DEL", "zset, expiry", "zset, UNLINK", "zset, DeleteLarge",
	} {
		if !regexp.MustCompile(regexp.QuoteMeta(row) + `( +\d+\.\d+){3} +\d+`).MatchString(out) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
	rdb, err := openRedis(t.Context(), testkit.RedisAdmin(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	if keys, err := rdb.Keys(t.Context(), "td:bench:*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("got keys %v, %v, want none", keys, err)
	}
}

func TestBenchLockPrintsATable(t *testing.T) {
	out, errs, code := command(t, "bench", "lock", "--redis-url", testkit.Redis(t), "--database-url", testkit.Postgres(t), "--only", "anomalies", "--scheme", "GET and DEL")
	if want := "TWO HOLDERS"; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d, %s; output lacks %q:\n%s", code, errs, want, out)
	}
}

func TestBenchSequencePrintsItsTable(t *testing.T) {
	t.Setenv("TANDIAN_TEST_DATABASE_URL", "")
	out, errs, code := command(t, "bench", "sequence", "--redis-url", testkit.Redis(t), "--rounds", "1", "--dur", "1ms")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"Omitted without a database: nextval", "UUIDv7", "repeated numbers"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

func TestBenchWritesCountsTheRowsOfEachCall(t *testing.T) {
	testkit.SkipIfShort(t)
	testkit.Postgres(t) // without servers, the test is skipped
	out, errs, code := command(t, "bench", "writes", "--users", "300", "--shops", "100", "--notes", "1000", "--follows", "500",
		"--connections", "8", "--rounds", "1", "--dur", "200ms", "--warmup", "0")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, row := range []string{
		"like one note", "like 3 000 notes", "follow one user", "comment on one note", "check in", "publish", "like with one connection", "orderVoucher",
		"rate one shop", "rate all shops", "change ratings of one shop", "change ratings of all shops", "save one shop", "save all shops",
		"pgbench -c 8", "pgbench -c 1", "bare POST",
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(row) + ` +[1-9]`).MatchString(out) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
}

func TestBenchFiltersMeasuresEachFilter(t *testing.T) {
	testkit.SkipIfShort(t)
	testkit.Postgres(t) // without servers, the test is skipped
	out, errs, code := command(t, "bench", "filters", "--shops", "20000", "--pages", "2")
	if code != 0 {
		t.Fatal(errs)
	}
	rows := regexp.MustCompile(`  +`).ReplaceAllString(out, "|")
	for _, order := range []string{"score", "sold", "newest", "near, distance", "near, score"} {
		filters := []string{"none", "openNow", "minScore 4", "price 30 to 60", "hasVoucher"}
		if !strings.HasPrefix(order, "near") { // a small town has few shops
			filters = append(filters, "minScore 4.5", "hasFlashSale", "open, score 4, voucher")
		}
		for _, filter := range filters {
			if !regexp.MustCompile(`(?m)^\|?` + regexp.QuoteMeta(order+"|"+filter) + `\|1\|\d+\.\d\d\|`).MatchString(rows) {
				t.Errorf("no row of %s, %s in\n%s", order, filter, out)
			}
		}
	}
}
