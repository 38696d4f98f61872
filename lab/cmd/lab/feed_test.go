package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestBenchFeedPrintsItsTable(t *testing.T) {
	t.Parallel()
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs PostgreSQL and Redis: run `make test`")
	}
	out, errs, code := command(t, "bench", "feed", "--followers", "1200", "--fans", "1500", "--rounds", "2", "--pages", "40", "--clients", "4")
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	for _, line := range []string{
		`publishing, no follower +p50 [\d.]+ ms, p99 [\d.]+ ms`,
		`publishing, 1200 followers, all with inboxes +p50 [\d.]+ ms, p99 [\d.]+ ms`,
		`publishing, 1500 followers, a celebrity +p50 [\d.]+ ms, p99 [\d.]+ ms`,
		`from publishing to the last of 1200 +p50 \d+ ms`,
		`fan-out, inboxes +\d+/s`,
		`inboxes that have the last note +1200 +1200 +yes`,
		`first page, reader follows 80 authors +\d+/s, p50 [\d.]+ ms`,
		`page behind 400, reader follows 80 authors and 5 celebrities +\d+/s`,
		`page behind 600, below the inbox, reader follows 80 authors +\d+/s`,
		`an inbox of 501, by default +\d+ bytes`,
		`an inbox of 501, zset-max-listpack-entries 512 +\d+ bytes`,
	} {
		if !regexp.MustCompile(`(?m)^` + line).MatchString(out) {
			t.Errorf("no line matches %q", line)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	if !strings.Contains(errs, "feed: pages") {
		t.Errorf("no progress: %s", errs)
	}
}

func TestBenchFeedRefusesWrongFlags(t *testing.T) {
	for _, args := range [][]string{{"--followers", "100000"}, {"--followers", "0"}, {"--followers", "10", "--fans", "10"}, {"--clients", "0"}, {"--rounds", "0"}, {"--pages", "0"}} {
		if _, errs, code := command(t, append([]string{"bench", "feed"}, args...)...); code != 2 || !strings.Contains(errs, "--followers less than --fans") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}
