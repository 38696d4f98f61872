package servebench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPgbenchReportIsRead(t *testing.T) {
	const report = "transaction type: like.sql\nnumber of transactions actually processed: 22779\nnumber of failed transactions: 0 (0.000%)\ntps = 2402.9 (without initial connection time)\n"
	for _, tt := range []struct {
		name, report string
		want         int
		err          string
	}{
		{"whole", report, 22779, ""},
		{"of version 14, without failures", strings.Replace(report, "number of failed transactions: 0 (0.000%)\n", "", 1), 22779, ""},
		{"with failures", strings.Replace(report, "transactions: 0 (", "transactions: 3 (", 1), 0, "3 transactions failed"},
		{"of an aborted run", "pgbench: error: client 3 aborted\n", 0, "client 3 aborted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			done, err := parsePgbench(tt.report)
			if done != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d, %v; want %d, %q", done, err, tt.want, tt.err)
			}
		})
	}
}

func TestPgbenchLogIsReadWhileItIsWritten(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "log.4531"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("0 1 8392 0 1795934463 863855\n1 1 4568 0 1795934463 863885\n1 2 29")
	got, err := readTransactions(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []transaction{
		{0, time.Unix(1795934463, 863855000), 8392 * time.Microsecond},
		{1, time.Unix(1795934463, 863885000), 4568 * time.Microsecond},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(transaction{})); diff != "" {
		t.Error(diff)
	}
	write("0 1 skipped 0 1795934463 863855\n")
	if got, err := readTransactions(dir); err == nil {
		t.Errorf("a line without a time is %v", got)
	}
}

func TestPgbenchIsWarmWhenEachConnectionIs(t *testing.T) {
	dir := t.TempDir()
	line := func(client string) string { return client + " 1 100 0 1795934463 863855\n" }
	for _, tt := range []struct {
		name, log string
		want      bool
	}{
		{"before the first line", "", false},
		{"one connection lacks a transaction", strings.Repeat(line("0"), 9) + strings.Repeat(line("1"), warmTransactions-1), false},
		{"both have enough", strings.Repeat(line("0"), 9) + strings.Repeat(line("1"), warmTransactions), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "log"), []byte(tt.log), 0o600); err != nil {
				t.Fatal(err)
			}
			p := &pgbenchProcess{dir: dir, connections: 2}
			if warm, err := p.warm(); warm != tt.want || err != nil {
				t.Errorf("%v, %v; want %v", warm, err, tt.want)
			}
		})
	}
}

func TestEachCallWritesItsRowsAndNoOthers(t *testing.T) {
	m := &mutation{name: "like one note", raises: []string{"likes", "likes counted"}}
	before := map[string]int64{"likes": 10, "likes counted": 10, "notes": 5}
	for _, tt := range []struct {
		name  string
		after map[string]int64
		err   string
	}{
		{"all rows", map[string]int64{"likes": 13, "likes counted": 13, "notes": 5}, ""},
		{"a row is missing", map[string]int64{"likes": 12, "likes counted": 13, "notes": 5}, "3 calls raised the count of likes by 2, not 3"},
		{"a counter is behind", map[string]int64{"likes": 13, "likes counted": 12, "notes": 5}, "likes counted by 2, not 3"},
		{"another row appears", map[string]int64{"likes": 13, "likes counted": 13, "notes": 6}, "count of notes by 1, not 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := m.checkWritten(before, tt.after, 3)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		})
	}
}

func TestAnswersWithErrorsAreWrong(t *testing.T) {
	r := request{want: done}
	for _, tt := range []struct {
		name, answer string
		want         bool
	}{
		{"accepted", `{"data":{"likeNote":{"note":{"likeCount":1},"userErrors":[]}}}`, true},
		{"refused", `{"data":{"likeNote":{"note":null,"userErrors":[{"code":"NOT_FOUND"}]}}}`, false},
		{"accepted, with an error of a field", `{"errors":[{"message":"Try again."}],"data":{"likeNote":{"note":null,"userErrors":[]}}}`, false},
		{"failed", `{"errors":[{"message":"Try again."}],"data":null}`, false},
		{"empty", ``, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if right := r.right([]byte(tt.answer)); right != tt.want {
				t.Errorf("right is %v", right)
			}
		})
	}
}

func TestGoalsOfWritesHoldTogether(t *testing.T) {
	rated := &mutation{goal: writeGoal{rate: 0.6, server: 0.30, postgres: 0.25}}
	alone := &mutation{goal: writeGoal{p50: 2, server: 0.90, postgres: 0.90}}
	bare := &mutation{goal: writeGoal{rate: 0.15}, bare: true}
	for _, tt := range []struct {
		name string
		m    *mutation
		r    writeResult
		want string
	}{
		{"all reached", rated, writeResult{ratio: 0.6, server: 0.30, postgres: 0.25}, "yes"},
		{"too slow", rated, writeResult{ratio: 0.59, server: 0.30, postgres: 0.25}, "NO"},
		{"too much of the server", rated, writeResult{ratio: 0.7, server: 0.31, postgres: 0.25}, "NO"},
		{"too much of PostgreSQL", rated, writeResult{ratio: 0.7, server: 0.30, postgres: 0.26}, "NO"},
		{"one connection, soon enough", alone, writeResult{ratio: 1.9, server: 0.8, postgres: 0.8}, "yes"},
		{"one connection, too late", alone, writeResult{ratio: 2.1, server: 0.8, postgres: 0.8}, "NO"},
		{"a part of a bare handler, whatever it costs", bare, writeResult{ratio: 0.2, server: 9, postgres: 9}, "yes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, met := tt.m.verdict(&tt.r); met != tt.want {
				t.Errorf("%s, want %s", met, tt.want)
			}
		})
	}
}

func TestTableShowsTheMedianRound(t *testing.T) {
	rounds := []*writeResult{{ratio: 0.3, rate: 1}, {ratio: 0.1, rate: 2}, {ratio: 0.2, rate: 3}}
	if r := medianBy(rounds, func(r *writeResult) float64 { return r.ratio }); r.rate != 3 {
		t.Errorf("the median has the rate %v", r.rate)
	}
}
