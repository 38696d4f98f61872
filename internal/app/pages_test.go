package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

const startTime = 5 * time.Minute // go run may have to build the program

// A block is a fenced block of a page.
type block struct {
	role     string // of the comment above it, such as merchant; "" for no session
	language string
	text     string
}

// blocksOf returns the blocks of a page.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?ms)^(?:<!-- as (\\w+) -->\n)?```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{found[1], found[2], found[3]})
	}
	return blocks
}

// A program is a server that a command of a page started.
type program struct {
	url      string
	password string            // of its demo accounts
	values   map[string]string // for the placeholders of a page
}

// run starts the server that a command starts, and waits until it is ready. The end of the
// test ends it.
func run(t *testing.T, command string, environment ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	cmd := exec.Command("sh", "-c", command) //nolint:gosec // it is the page's; a signal ends it
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "TANDIAN_ADDR=127.0.0.1:0", "TANDIAN_DATA_DIR="+t.TempDir(), "TANDIAN_LOG_READER=off", "TANDIAN_DEMO_PICTURES=false")
	cmd.Env = append(cmd.Env, environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var logged bytes.Buffer
	cmd.Stderr = &logged
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan *program, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		p := &program{values: map[string]string{}}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := regexp.MustCompile(`^  app +(http://\S+)/$`).FindStringSubmatch(lines.Text()); found != nil {
				p.url = found[1]
			}
			if found := regexp.MustCompile(`^  merchant .* password (\S+)`).FindStringSubmatch(lines.Text()); found != nil {
				p.password = found[1]
			}
			if strings.Contains(lines.Text(), "Ctrl-C") {
				ready <- p
			}
		}
		close(ready)
	})
	t.Cleanup(func() {
		defer cancel()
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		reading.Wait()
		_ = cmd.Wait() // go run passes on that a signal ended the program
	})
	select {
	case p := <-ready:
		if p != nil {
			return p
		}
	case <-ctx.Done():
	}
	t.Fatalf("%s: the server is not ready\n%s", command, &logged)
	return nil
}

// shell runs a command of a page against the server and returns its output.
func (p *program) shell(t *testing.T, command, dir string) string {
	t.Helper()
	command = strings.ReplaceAll(p.fill(command), "localhost:8080", strings.TrimPrefix(p.url, "http://"))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, &errs)
	}
	return string(out)
}

// fill replaces the placeholders of a text.
func (p *program) fill(text string) string {
	for name, value := range p.values {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// A reader of the README who copies each command gets what it promises.
func TestREADMECommandsWork(t *testing.T) {
	var commands, answers []string
	for _, b := range blocksOf(t, "README.md") {
		switch b.language {
		case "sh":
			commands = append(commands, strings.TrimSpace(b.text))
		case "json":
			answers = append(answers, b.text)
		}
	}
	if len(commands) != 6 || len(answers) != 1 {
		t.Fatalf("got %d commands and %d answers: %q", len(commands), len(answers), commands)
	}
	p := run(t, commands[0])
	var want, got any
	for text, to := range map[string]*any{answers[0]: &want, p.shell(t, commands[1], "."): &got} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("first query (-README +server)\n%s", d)
	}
	p.values["PASSWORD"] = p.password
	p.values["TOKEN"] = token(t, p.shell(t, commands[2], "."))
	var me struct {
		Data struct {
			Me struct {
				Nickname, Phone, Role string
				Shops                 struct{ Edges []any }
			}
		}
	}
	if err := json.Unmarshal([]byte(p.shell(t, commands[3], ".")), &me); err != nil {
		t.Fatal(err)
	}
	if me := me.Data.Me; me.Nickname != "Demo merchant" || me.Phone != "+999****0002" || me.Role != "MERCHANT" || len(me.Shops.Edges) != 2 {
		t.Errorf("got the viewer %+v", me)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", "cd ../.. && "+commands[5]+" --dry-run").CombinedOutput(); err != nil { //nolint:gosec // it is the page's
		t.Errorf("%s: %v\n%s", commands[5], err, out)
	}
	start := strings.NewReplacer("postgres://user:password@host/tandian", "'"+storetest.Postgres(t)+"'", "redis://host:6379", "'"+storetest.Redis(t)+"'").Replace(commands[4])
	if strings.Contains(start, "host") || run(t, start).url == "" {
		t.Errorf("%s: no server", start)
	}
}

// token returns the session token in the answer to a login.
func token(t *testing.T, answer string) string {
	t.Helper()
	found := regexp.MustCompile(`"token":"([^"]+)"`).FindStringSubmatch(answer)
	if found == nil {
		t.Fatalf("no token in %s", answer)
	}
	return found[1]
}

// The blocks of the API guide run from top to bottom, and each subscription gets an update.
func TestAPIGuideRuns(t *testing.T) {
	p := run(t, "go run .")
	tokens := map[string]string{}
	for role, phone := range map[string]string{"administrator": "1", "merchant": "2", "customer": "3"} {
		body := fmt.Sprintf(`mutation { login(input: {phone: "+9990000000%s", password: %q}) { token } }`, phone, p.password)
		tokens[role] = token(t, p.post(t, "", body))
	}
	dir := t.TempDir()
	photo, err := os.Create(filepath.Join(dir, "photo.jpg")) //nolint:gosec // a folder of this test
	if err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(photo, image.NewGray(image.Rect(0, 0, 40, 30)), nil); err != nil {
		t.Fatal(err)
	}
	if err := photo.Close(); err != nil {
		t.Fatal(err)
	}
	p.values["TOKEN"] = tokens["customer"]
	p.values["BEGIN"], p.values["END"] = time.Now().Add(time.Hour).Format(time.RFC3339), time.Now().AddDate(0, 1, 0).Format(time.RFC3339)
	ran, updates := 0, map[string]*stream{}
	for _, b := range blocksOf(t, "docs/reference/graphql.md") {
		document := p.fill(b.text)
		ran++
		switch {
		case b.language == "sh":
			if out := p.shell(t, b.text, dir); strings.Contains(out, `"errors"`) || strings.Contains(out, "HTTP/1.1 4") {
				t.Errorf("%s\n%s", b.text, out)
			}
		case strings.HasPrefix(document, "subscription"):
			updates[document] = p.subscribe(t, tokens[b.role], document)
		default:
			answer := p.post(t, tokens[b.role], document)
			if strings.Contains(answer, `"errors"`) || strings.Contains(answer, `"code"`) {
				t.Errorf("%s\n%s", document, answer)
			}
			if found := regexp.MustCompile(`"order":\{"id":"([^"]+)"`).FindStringSubmatch(answer); found != nil {
				p.values["ORDER"] = found[1]
			}
		}
	}
	if ran < 15 || len(updates) != 3 {
		t.Errorf("%d blocks, %d subscriptions", ran, len(updates))
	}
	for document, s := range updates {
		testkit.Eventually(t, 20*time.Second, func() bool { return strings.Contains(s.String(), "event: next") })
		if strings.Contains(s.String(), `"errors"`) {
			t.Errorf("%s\n%s", document, s)
		}
	}
}

// request returns a request of an operation.
func (p *program) request(t *testing.T, token, document string) *http.Request {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": document})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

// post runs an operation and returns the answer.
func (p *program) post(t *testing.T, token, document string) string {
	t.Helper()
	res, err := http.DefaultClient.Do(p.request(t, token, document))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// A stream holds what an event stream has sent.
type stream struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// subscribe opens an event stream, which ends with the test.
func (p *program) subscribe(t *testing.T, token, document string) *stream {
	t.Helper()
	req := p.request(t, token, document)
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", document, res.Status)
	}
	s := &stream{}
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(s, res.Body) }) // the clean-up ends it
	t.Cleanup(func() {
		_ = res.Body.Close()
		copying.Wait()
	})
	return s
}
