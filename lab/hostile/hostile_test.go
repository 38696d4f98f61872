// Package hostile_test attacks the server's program with many kinds of hostile requests.
package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// Limits that no script may exceed at the default settings: the memory of the program, and the
// longest wait of other clients.
const (
	mostMemory     = 256 << 20
	longestSilence = 5 * time.Second
)

// bounds returns the settings of a server with little memory. Without them garbage grows as far as
// the memory of the machine allows, and the test would prove nothing on a large one. In addition to
// its heap the program has some 80 MB: stacks, and up to 70 MB of its own file where the kernel
// maps large pages.
func bounds() []string { return []string{"GOMEMLIMIT=160MiB", "GOGC=100"} }

// The program runs as a process of its own. Scripts attack it one after the other; those that wait
// for a time-out run in parallel. Meanwhile an honest client at another address sends small
// queries. After each script the memory of the process must be bounded, and after all of them as
// small as before.
func TestNoHostileScriptTakesTheServerDown(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	v := startVictim(t)
	honest := v.meet(t)
	v.settled(t) // the first questions have filled caches
	start := v.metrics(t)

	var rows []row
	begin := time.Now()
	for _, group := range hostility() {
		rows = append(rows, v.endure(t, honest, group)...)
	}
	t.Logf("%d attacks in %v; at the start %.0f goroutines, %.0f open files\n%s",
		len(rows), time.Since(begin).Round(time.Second), start["go_goroutines"], start["process_open_fds"], table(rows))

	end := v.recovered(t, start)
	if n := end["tandian_door_panics_total"]; n != 0 {
		t.Errorf("%v requests panicked", n)
	}
	log := v.stop(t)
	if strings.Contains(log, "panic") {
		t.Errorf("the log tells of a panic:\n%.4000s", log)
	}
	if len(log) > 1<<20 {
		t.Errorf("strangers wrote %d bytes into the log:\n%.2000s", len(log), log)
	}
}

// An attack is one kind of hostile request, sent as often as possible in a second or two.
type attack struct {
	name string
	want []string // allowed responses, in addition to tooMuch
	run  func(*script)
}

// tooMuch returns the errors that any client may get for too many requests.
func tooMuch() []string {
	return []string{"429 RATE_LIMITED", "503 UNAVAILABLE"}
}

// A script runs an attack. Its methods are safe for concurrent use.
type script struct {
	ctx context.Context
	*victim

	mu      sync.Mutex
	answers map[string]int
}

func (s *script) got(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[answer]++
}

// A row is the result of an attack.
type row struct {
	attack    string
	requests  int
	worst     time.Duration // that the honest client waited
	rss, peak int           // of the process
	answer    string        // the most frequent one
	took      time.Duration
}

// endure runs the scripts of a group in parallel, with an honest client among them, and then checks
// the process.
func (v *victim) endure(t *testing.T, honest *asker, group []attack) []row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begin := time.Now()
	running, done := context.WithCancel(ctx)
	worst := make(chan time.Duration)
	go func() { worst <- honest.askUntil(running, t, group[0].name) }()
	scripts := make([]*script, len(group))
	var all sync.WaitGroup
	for i, a := range group {
		scripts[i] = &script{ctx: ctx, victim: v, answers: map[string]int{}}
		all.Go(func() { a.run(scripts[i]) })
	}
	all.Wait()
	done()
	silence := <-worst
	rss, peak := v.memory(t)
	if peak > mostMemory {
		t.Errorf("after %q the process has had %d MB, want at most %d", group[0].name, peak>>20, mostMemory>>20)
	}
	var rows []row
	for i, a := range group {
		r := row{attack: a.name, worst: silence, rss: rss, peak: peak, took: time.Since(begin)}
		r.requests, r.answer = a.check(t, scripts[i].answers)
		rows = append(rows, r)
	}
	return rows
}

// check compares the responses of a script with the allowed ones. At least one must be a wanted
// rejection.
func (a attack) check(t *testing.T, answers map[string]int) (all int, most string) {
	t.Helper()
	seen := false
	for answer, n := range answers {
		all += n
		if n > answers[most] {
			most = answer
		}
		wanted := slices.Contains(a.want, answer)
		seen = seen || wanted
		if !wanted && !slices.Contains(tooMuch(), answer) {
			t.Errorf("%s: %d times %q, want one of %q", a.name, n, answer, a.want)
		}
	}
	if !seen {
		t.Errorf("%s: %v, want %q", a.name, answers, a.want)
	}
	if len(answers) > 1 {
		most += fmt.Sprintf(" (%d; %d kinds)", answers[most], len(answers))
	}
	return all, most
}

func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "attack\trequests\ttook\tworst honest answer\tRSS after, MB\tpeak so far, MB\tmost frequent answer")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%.1fs\t%v\t%d\t%d\t%s\n", r.attack, r.requests, r.took.Seconds(), r.worst.Round(time.Millisecond), r.rss>>20, r.peak>>20, r.answer)
	}
	_ = w.Flush() // to a Builder
	return text.String()
}

// An asker is the honest client. It opens a connection for each query, so that it also detects a
// server that accepts no connections.
type asker struct {
	client *http.Client
	url    string
	right  map[string]string // answers by question
}

// meet sends each query once and stores the responses as the correct ones.
func (v *victim) meet(t *testing.T) *asker {
	t.Helper()
	h := &asker{
		client: &http.Client{Transport: &http.Transport{DialContext: dialer(v.honest).DialContext, DisableKeepAlives: true}},
		url:    "http://" + v.honestHost + "/graphql", right: map[string]string{},
	}
	for _, question := range []string{
		`{ shopTypes { id name sort } }`,
		`{ shops(first: 3, near: {lat: 30.2448, lng: 120.1510}) { edges { distance node { name type { name } } } } }`,
	} {
		answer, err := h.ask(t.Context(), question)
		if err != nil || !strings.Contains(answer, `"name"`) || strings.Contains(answer, `"errors"`) {
			t.Fatalf("%s: %s (%v)", question, answer, err)
		}
		h.right[question] = answer
	}
	return h
}

func (h *asker) ask(ctx context.Context, question string) (answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body(question, nil)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := h.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// askUntil sends a query every few milliseconds until ctx ends, and one more after that. It returns
// the longest duration of a correct response.
func (h *asker) askUntil(ctx context.Context, t *testing.T, during string) (worst time.Duration) {
	pause := time.NewTicker(25 * time.Millisecond)
	defer pause.Stop()
	for last := false; !last; {
		select {
		case <-pause.C:
		case <-ctx.Done():
			last = true
		}
		for question, right := range h.right {
			asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*longestSilence)
			begin := time.Now()
			answer, err := h.ask(asking, question)
			took := time.Since(begin)
			cancel()
			worst = max(worst, took)
			if err != nil || answer != right || took > longestSilence {
				t.Errorf("during %q, after %v, an honest client got %.300s (%v)", during, took, answer, err)
				return worst
			}
		}
	}
	return worst
}

// A victim is the program as a process of its own.
type victim struct {
	host       string // for attackers
	honest     net.IP // address of the honest client
	honestHost string
	spread     bool // whether attackers have several addresses
	cmd        *exec.Cmd
	log        string // file
	session    string // of a customer
	highest    int    // resident bytes, if the system reports no maximum
}

// startVictim builds and starts the program on the embedded stores.
func startVictim(t *testing.T) *victim {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "tandian")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, ".")
	build.Dir = "../.." // the module of the server
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	v := &victim{log: filepath.Join(dir, "log"), honest: net.IPv4(127, 0, 0, 2), spread: true}
	addr := "127.0.0.1:0"
	if own, err := net.Listen("tcp", "127.0.0.2:0"); err == nil {
		_ = own.Close()
	} else { // no Linux: the honest client comes by IPv6, all others by IPv4
		addr, v.honest, v.spread = ":0", net.IPv6loopback, false
	}
	v.cmd = exec.CommandContext(t.Context(), binary, "--addr", addr, "--log-level", "warn") //nolint:gosec // what was built above
	v.cmd.Dir = dir
	v.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}, bounds()...)
	log, err := os.Create(v.log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	v.cmd.Stderr = log
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.cmd.Process.Kill() }) // unless it was stopped
	v.greeted(t, out)
	return v
}

// greeted reads what the program prints when it is ready.
func (v *victim) greeted(t *testing.T, out io.Reader) {
	t.Helper()
	said := readUntil(t, out, "Press Ctrl-C to stop.")
	port := regexp.MustCompile(`API\s+http://[^/]*:(\d+)/graphql`).FindStringSubmatch(said)
	customer := regexp.MustCompile(`customer +phone (\S+) +password (\S+)`).FindStringSubmatch(said)
	if port == nil || customer == nil {
		t.Fatalf("unexpected output of the program:\n%s", said)
	}
	v.host = "127.0.0.1:" + port[1]
	v.honestHost = v.host
	if !v.spread {
		v.honestHost = "[::1]:" + port[1]
	}
	login := body(`mutation L($i: LoginInput!) { login(input: $i) { token } }`,
		map[string]any{"i": map[string]any{"phone": customer[1], "password": customer[2]}})
	res, err := http.Post("http://"+v.host+"/graphql", "application/json", strings.NewReader(login))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Data struct{ Login struct{ Token string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Data.Login.Token == "" {
		t.Fatalf("login: %v, %d", err, res.StatusCode)
	}
	v.session = answer.Data.Login.Token
}

func readUntil(t *testing.T, from io.Reader, end string) string {
	t.Helper()
	var said []byte
	part := make([]byte, 1024)
	for !strings.Contains(string(said), end) {
		n, err := from.Read(part)
		said = append(said, part[:n]...)
		if err != nil {
			t.Fatalf("the program ended: %v\n%s", err, said)
		}
	}
	return string(said)
}

// stop ends the program like an operator and returns its log.
func (v *victim) stop(t *testing.T) string {
	t.Helper()
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	log, err := os.ReadFile(v.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

// memory returns the resident size of the process in bytes, and its maximum. Without a maximum from
// the system, it returns the highest value seen here.
func (v *victim) memory(t *testing.T) (now, peak int) {
	t.Helper()
	if runtime.GOOS == "linux" {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return kilobytes(t, string(status), `VmRSS:\s+(\d+) kB`), kilobytes(t, string(status), `VmHWM:\s+(\d+) kB`)
	}
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "rss=", "-p", strconv.Itoa(v.cmd.Process.Pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	now = kilobytes(t, string(out), `(\d+)`)
	v.highest = max(v.highest, now)
	return now, v.highest
}

func kilobytes(t *testing.T, text, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// metrics returns the values without labels of /metrics.
func (v *victim) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: dialer(v.honest).DialContext, DisableKeepAlives: true}}
	res, err := client.Get("http://" + v.honestHost + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, line := range regexp.MustCompile(`(?m)^(\w+) (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		if values[line[1]], err = strconv.ParseFloat(line[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "tandian_door_panics_total"} {
		if _, there := values[name]; !there && runtime.GOOS == "linux" {
			t.Fatalf("no %s in /metrics", name)
		}
	}
	return values
}

// pooled is the allowed growth of goroutines and files in the pools of the stores after concurrent
// use. A leak shows in thousands.
const pooled = 150

// recovered waits until the process has about as many goroutines and open files
// as at the start.
func (v *victim) recovered(t *testing.T, start map[string]float64) (end map[string]float64) {
	t.Helper()
	held := func(name string) float64 { return end[name] - start[name] }
	defer func() {
		t.Logf("at the end %v goroutines and %v open files more than at the start", held("go_goroutines"), held("process_open_fds"))
	}()
	testkit.Eventually(t, 20*time.Second, func() bool {
		end = v.metrics(t)
		return held("go_goroutines") <= pooled && held("process_open_fds") <= pooled
	})
	return end
}

// settled waits until the work of the start is done.
func (v *victim) settled(t *testing.T) {
	t.Helper()
	before := v.metrics(t)
	testkit.Eventually(t, 20*time.Second, func() bool {
		now := v.metrics(t)
		same := now["go_goroutines"] == before["go_goroutines"] && now["process_open_fds"] == before["process_open_fds"]
		before = now
		return same
	})
}

// dialer dials from an address; nil means any.
func dialer(from net.IP) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second}
	if from != nil {
		d.LocalAddr = &net.TCPAddr{IP: from}
	}
	return d
}

// attackers is the default number of addresses of a script, so that no limit per address alone
// stops it.
const attackers = 8

// from returns the address of the nth connection of a script.
func (v *victim) from(n int) net.IP {
	if !v.spread {
		return nil
	}
	return net.IPv4(127, 0, 0, byte(10+n%attackers))
}

// body returns a GraphQL request.
func body(query string, variables any) string {
	text, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err) // it is a test's own
	}
	return string(text)
}

// codeIn finds the code of the first error in an answer.
var codeIn = regexp.MustCompile(`"code":"([A-Z_]+)"`)

// said describes an HTTP response: its status, and its first error code if any.
func said(res *http.Response, err error) string {
	switch netErr, isNet := errors.AsType[net.Error](err); {
	case isNet && netErr.Timeout():
		return "no answer"
	case err != nil:
		return "cut off"
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // what is cut off has no code
	_, _ = io.Copy(io.Discard, res.Body)                  // so that the connection can be used again
	if code := codeIn.FindSubmatch(text); code != nil {
		return fmt.Sprintf("%d %s", res.StatusCode, code[1])
	}
	return strconv.Itoa(res.StatusCode)
}
