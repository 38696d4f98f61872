package queue

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/lab/compare/redisserver"
)

// isProcess is set for a process that a test started.
const isProcess = "TANDIAN_TEST_QUEUE_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(isProcess) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func lab(t *testing.T) Lab {
	t.Helper()
	// The Redis of the tests need not be on PATH.
	if program := os.Getenv("TANDIAN_TEST_REDIS_SERVER"); program != "" && !strings.HasPrefix(os.Getenv("PATH"), filepath.Dir(program)) {
		t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	server, err := redisserver.StartKeeping(t.Context())
	if errors.Is(err, redisserver.ErrNone) && os.Getenv("TANDIAN_REQUIRE_SERVERS") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	return Lab{Messages: 200, Processes: func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), isProcess+"=1"), os.Stderr
		return cmd
	}}
}

// The known wrong schemes must lose messages, or the verdict of Tandian's is worthless. A + means
// any number above zero, where the number depends on kernel buffers or on the size of a stream
// node.
func TestLossesMatchExpectations(t *testing.T) {
	l := lab(t)
	want := map[string]string{ // A to E, two share, again
		ours:                             "0 (50 twice)|0|100 (50 twice)|0|0|yes|no",
		"channel of the process":         "100|0|0|0|0|yes|no",
		"List, BRPOP":                    "1|0|100 (50 twice)|0|0|yes|no",
		"List, BLMOVE and put back":      "0 (1 twice)|0|100 (50 twice)|0|0|yes|no",
		"pub/sub":                        "100|+|?|200|+|no: 200 twice|no",
		"Stream, XREAD $ each time":      "200|200|200|200|200|no: + twice|yes",
		"Stream, XREAD from the last id": "100|0|100|200|0|no: 200 twice|yes",
		"Stream group, one at a time":    "0 (1 twice)|0|100 (50 twice)|0|0|yes|yes",
		"Stream group, MAXLEN ~ 100":     "+|+|?|+|+|yes|+ of 501",
	}
	var all sync.WaitGroup // mostly they wait, so more than go test would have run at once
	for _, sc := range Schemes() {
		all.Go(func() {
			got, err := l.row(t.Context(), sc)
			if err != nil {
				t.Errorf("%s: %v", sc.Name, err)
				return
			}
			if !slices.EqualFunc(strings.Split(want[sc.Name], "|"), got, fits) {
				t.Errorf("%s:\ngot  %s\nwant %s", sc.Name, strings.Join(got, "|"), want[sc.Name])
			}
		})
	}
	all.Wait()
}

// fits reports whether a cell matches want: + stands for a number other than 0, ? for any cell.
func fits(want, got string) bool {
	before, after, loose := strings.Cut(want, "+")
	if !loose {
		return want == "?" || want == got
	}
	middle, ok := strings.CutPrefix(got, before)
	middle, end := strings.CutSuffix(middle, after)
	n, err := strconv.Atoi(middle)
	return ok && end && err == nil && n > 0
}

func TestCellsMatchPatterns(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		fits      bool
	}{
		{"0", "0", true},
		{"0", "1", false},
		{"+", "1", true},
		{"+", "0", false},
		{"+", "1 (1 twice)", false},
		{"no: + twice", "no: 3 twice", true},
		{"no: + twice", "no: 0 twice", false},
		{"no: + twice", "yes", false},
		{"?", "7", true},
	} {
		if fits(tt.want, tt.got) != tt.fits {
			t.Errorf("%q, %q: want %v", tt.want, tt.got, tt.fits)
		}
	}
}

func TestRatesHaveRatiosAndMissedMessages(t *testing.T) {
	l := lab(t)
	schemes := Schemes()
	rates, err := l.rates(t.Context(), schemes, 1, together)
	if err != nil {
		t.Fatal(err)
	}
	misses := []string{"Stream, XREAD $ each time", "Stream group, MAXLEN ~ 100"} // may or, the first, must
	for i, sc := range schemes {
		r := rates[i]
		if r.PerSecond <= 0 || r.ToOurs <= 0 || sc.Name == ours && r.ToOurs != 1 {
			t.Errorf("%s: %+v", sc.Name, r)
		}
		if may := slices.Contains(misses, sc.Name); r.Missed > 0 && !may || r.Missed == 0 && sc.Name == misses[0] {
			t.Errorf("%s missed %d", sc.Name, r.Missed)
		}
	}
}

func TestWaitingMessagesTakeAtLeastTheirSize(t *testing.T) {
	l := lab(t)
	for _, sc := range Schemes() {
		t.Run(sc.Name, func(t *testing.T) {
			w, err := l.waitingBytes(t.Context(), sc)
			if err != nil {
				t.Fatal(err)
			}
			switch sc.Name {
			case "pub/sub":
				if w.Count != 0 {
					t.Errorf("%d messages wait without a consumer", w.Count)
				}
			case "Stream group, MAXLEN ~ 100":
				if w.Count < bound || w.Count > 3*bound {
					t.Errorf("%d wait, want about %d", w.Count, bound)
				}
			default:
				if w.Count != w.Sent || w.Bytes < messageBytes || w.Bytes > 4*messageBytes {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

func TestTheTablesArePrinted(t *testing.T) {
	var out strings.Builder
	if err := Report(t.Context(), Plan{Lab: lab(t), Rounds: 1, Scheme: "BRPOP"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Cost of a message", "Results of 200 messages", "\nList, BRPOP  1  ", "two share"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
}

// Assumptions of the trials: a killed consumer is dead, a killed Redis has all that it had written,
// and a truncated one has lost the rest.
func TestLabRunsItsTrials(t *testing.T) {
	l := lab(t)
	sc := Schemes()[slices.IndexFunc(Schemes(), func(sc Scheme) bool { return sc.Name == "List, BRPOP" })]
	tr, err := l.trial(t.Context(), sc, soon, messageBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.end()
	c, err := tr.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.kill()
	if err := c.handle(t.Context(), 1); err == nil {
		t.Error("a dead consumer handles")
	}
	depth := func(want int) {
		t.Helper()
		if got, err := tr.depth(t.Context()); err != nil || got != want {
			t.Errorf("%d messages in the queue, %v; want %d", got, err, want)
		}
	}
	if _, err := tr.send(t.Context(), 30, 10); err != nil {
		t.Fatal(err)
	}
	length, err := tr.server.Written(t.Context(), tr.rdb)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.send(t.Context(), 30, 10); err != nil {
		t.Fatal(err)
	}
	if err := tr.restart(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	depth(60)
	if err := tr.restart(t.Context(), length); err != nil {
		t.Fatal(err)
	}
	depth(30)
}
