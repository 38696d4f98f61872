package servebench

import (
	"context"
	"crypto/rand"
	_ "embed" // statements
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/testbed"
)

//go:embed sql/shops.sql
var shopsSQL string

// bench is one run.
type bench struct {
	Options
	db      *sqldb.SQL            // nil if unknown
	rdb     redis.UniversalClient // nil if unknown
	codes   *testbed.Codes        // nil if login codes go elsewhere
	server  *target
	closers []func()

	people             []person // the administrator, the merchant, customers
	firstShop, allShop int64    // first id and number of shops; 0 if unknown or with gaps
	asked              int64    // shops that were already requested
	checkedIn          int      // customers that checked in
	phones             int      // phones that signed in
	types              []string
	shops, notes       []string
}

// A person has a session.
type person struct {
	testbed.Session
	address string
}

// A target is a measured server.
type target struct {
	url     *url.URL
	process *testbed.Server // nil for a server of --at
}

func (t *target) addr() string { return t.url.Host }

func (b *bench) close() {
	for _, end := range slices.Backward(b.closers) {
		end()
	}
}

// open opens or finds the stores and the server, and reads the town.
func (b *bench) open(ctx context.Context) error {
	if b.At == "" {
		if err := b.openOwn(ctx); err != nil {
			return err
		}
	} else if err := b.openOther(); err != nil {
		return err
	}
	return b.readTown(ctx)
}

// openOwn starts stores, seeds a town and starts a server.
func (b *bench) openOwn(ctx context.Context) error {
	if err := b.startStores(ctx); err != nil {
		return err
	}
	if err := b.openStores(); err != nil {
		return err
	}
	if err := b.seed(); err != nil {
		return err
	}
	if err := testbed.Settle(ctx, b.db); err != nil {
		return err
	}
	var err error
	b.server, err = b.start(ctx, b.Without...)
	return err
}

// startStores starts PostgreSQL, with further options on its command line, Redis, and the
// webhook of login codes.
func (b *bench) startStores(ctx context.Context, options ...string) error {
	pg, err := subprocess.StartPostgres(ctx, options...)
	if err != nil {
		return err
	}
	b.closers = append(b.closers, pg.Stop)
	private, err := subprocess.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	b.closers = append(b.closers, private.Stop)
	b.DatabaseURL, b.RedisURL = pg.URL, private.URL
	if b.codes, err = testbed.ServeCodes(ctx, rand.Text()); err != nil {
		return fmt.Errorf("serve the webhook of login codes: %w", err)
	}
	b.closers = append(b.closers, func() { _ = b.codes.Close() })
	return nil
}

// seed runs the command that generates the town and writes the sessions of its users.
func (b *bench) seed() error {
	b.Tokens = filepath.Join(b.Dir, "tokens")
	cmd := b.command("tandian", b.Town.Arguments(b.Tokens)...)
	cmd.Stdout, cmd.Stderr = b.Progress, b.Progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("seed the town: %w", err)
	}
	return nil
}

// settle waits until a server has finished its first background work, the fan-out of the seeded
// notes.
func (b *bench) settle(ctx context.Context, s *target) error {
	fmt.Fprintln(b.Progress, "waiting for the server to be idle")
	for begin := time.Now(); ; {
		before, err := b.costs(ctx, s)
		if err != nil {
			return err
		}
		select {
		case <-time.After(idleInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, err := b.costs(ctx, s)
		if err != nil {
			return err
		}
		if after.since(before).server < idleInterval/idlePart {
			return nil
		}
		if time.Since(begin) > idlePatience {
			return fmt.Errorf("the server was not idle within %v", idlePatience)
		}
	}
}

const (
	idleInterval = 2 * time.Second
	idlePart     = 25 // an idle server uses less than 1/25 of a CPU
	idlePatience = 10 * time.Minute
)

// start starts a server without some of its optimizations.
func (b *bench) start(ctx context.Context, without ...string) (*target, error) {
	return b.startBy(ctx, func() *exec.Cmd { return b.command("serve", withoutArguments(without)...) })
}

// withoutArguments returns the arguments of a server without some of its optimizations.
func withoutArguments(without []string) []string {
	if len(without) == 0 {
		return nil
	}
	return []string{"--without", strings.Join(without, ",")}
}

// startBy starts the server that a command runs, and waits until it is idle.
func (b *bench) startBy(ctx context.Context, command func() *exec.Cmd) (*target, error) {
	p, err := testbed.Start(ctx, command, testbed.Setting{})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, p.Kill)
	s := &target{&url.URL{Scheme: "http", Host: p.Addr}, p}
	return s, b.settle(ctx, s)
}

// command returns the command of a process of this program, with production settings on the
// stores of this run. Each client has an address of its own. The only limit that it lifts is
// that of login codes an hour. A server logs at its default settings, to /dev/null.
func (b *bench) command(process string, args ...string) *exec.Cmd {
	cmd := b.Command(append([]string{
		process, "--database-url", b.DatabaseURL, "--redis-url", b.RedisURL, "--addr", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1",
		"--media-url", "file://" + filepath.Join(b.Dir, "media"), "--code-sender", "webhook", "--code-webhook-url", b.codes.URL,
		"--zone", "UTC", "--l1-bytes", strconv.Itoa(256 << 20), "--log-format", "json", "--codes-per-hour", "0",
	}, args...)...)
	cmd.Env = append(testbed.Environment(), "TANDIAN_CODE_WEBHOOK_SECRET="+b.codes.Secret)
	if process != "serve" {
		cmd.Stderr = b.Progress
	}
	return cmd
}

// openOther opens a running server.
func (b *bench) openOther() error {
	at, err := url.Parse(b.At)
	if err != nil || at.Scheme != "http" || at.Host == "" {
		return fmt.Errorf("invalid server URL %q: want http://", b.At)
	}
	if at.Port() == "" {
		at.Host += ":80"
	}
	b.server = &target{url: at}
	return b.openStores()
}

func (b *bench) openStores() (err error) {
	if b.DatabaseURL != "" {
		if b.db, err = sqldb.OpenSQL(sqldb.SQLConfig{URL: b.DatabaseURL}); err != nil {
			return err
		}
		b.closers = append(b.closers, func() { _ = b.db.Close() })
	}
	if b.RedisURL != "" {
		if b.rdb, err = subprocess.OpenPatient(b.RedisURL); err != nil {
			return err
		}
		b.closers = append(b.closers, func() { _ = b.rdb.Close() })
	}
	return nil
}

// readTown reads the users and objects of the town.
func (b *bench) readTown(ctx context.Context) (err error) {
	if b.people, err = readPeople(b.Tokens); err != nil {
		return err
	}
	if b.db != nil {
		var first, last, all int64
		if err := b.db.QueryRowContext(ctx, sqldb.Statement(shopsSQL)).Scan(&first, &last, &all); err != nil {
			return fmt.Errorf("count the shops: %w", err)
		}
		if all == last-first+1 {
			b.firstShop, b.allShop = first, all
		}
	}
	var seen struct {
		ShopTypes []struct{ ID string }
		Shops     struct {
			Edges []struct{ Node struct{ ID string } }
		}
		HotNotes struct {
			Edges []struct{ Node struct{ ID string } }
		}
	}
	if err := b.ask(ctx, b.people[2], "{ shopTypes { id } shops(first: 100) { edges { node { id } } } hotNotes(first: 50) { edges { node { id } } } }", nil, &seen); err != nil {
		return fmt.Errorf("read the town: %w", err)
	}
	for _, t := range seen.ShopTypes {
		b.types = append(b.types, t.ID)
	}
	for _, e := range seen.Shops.Edges {
		b.shops = append(b.shops, e.Node.ID)
	}
	for _, e := range seen.HotNotes.Edges {
		b.notes = append(b.notes, e.Node.ID)
	}
	if len(b.types) == 0 || len(b.shops) == 0 || len(b.notes) == 0 {
		return errors.New("the town has no types, shops or notes: seed it first")
	}
	return nil
}

// readPeople reads the file that tandian seed writes.
func readPeople(path string) (people []person, err error) {
	sessions, err := testbed.ReadSessions(path)
	if err != nil {
		return nil, err
	}
	for i, s := range sessions {
		people = append(people, person{s, testbed.Address(i + 1)})
	}
	if len(people) < 100 || people[0].Role != "ADMIN" || people[1].Role != "MERCHANT" {
		return nil, errors.New("tokens must have an administrator, a merchant and at least 98 customers")
	}
	return people, nil
}

// ask sends an unmeasured request, and decodes the data of its response.
func (b *bench) ask(ctx context.Context, who person, document string, variables map[string]any, data any) error {
	c := testbed.Conn{Addr: b.server.addr()}
	defer c.Close()
	body, err := c.Ask(ctx, wire(b.server, who, document, variables))
	if err != nil {
		return err
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%.200s: %w", body, err)
	}
	if len(answer.Errors) > 0 {
		return errors.New(answer.Errors[0].Message)
	}
	return json.Unmarshal(answer.Data, data)
}

// wire returns a request in the form in which it is sent.
func wire(to *target, who person, document string, variables map[string]any) []byte {
	question := map[string]any{"query": document}
	if len(variables) > 0 {
		question["variables"] = variables
	}
	body, err := json.Marshal(question)
	if err != nil {
		panic(err) // strings and numbers
	}
	return fmt.Appendf(nil, "POST /graphql HTTP/1.1\r\nHost: %s\r\nUser-Agent: servebench\r\nAccept: application/json\r\nContent-Type: application/json\r\n"+
		"Authorization: Bearer %s\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n\r\n%s", to.url.Host, who.Token, who.address, len(body), body)
}

// cost holds the resources used so far.
type cost struct {
	server  time.Duration
	mallocs float64
	stores  testbed.StoresCPU
}

func (c cost) since(before cost) cost {
	return cost{c.server - before.server, c.mallocs - before.mallocs, c.stores.Since(before.stores)}
}

// costs reads the resource usage of the server and the stores.
func (b *bench) costs(ctx context.Context, s *target) (c cost, err error) {
	if s.process != nil {
		a, err := s.process.Ask(ctx, testbed.Question{})
		if err != nil {
			return c, err
		}
		c.server, c.mallocs = a.CPU, float64(a.Mallocs)
	} else if c, err = scrape(ctx, s); err != nil {
		return c, fmt.Errorf("read the metrics of the server: %w", err)
	}
	if b.db != nil && b.rdb != nil {
		c.stores, err = testbed.CPUOfStores(ctx, b.rdb, b.db)
	}
	return c, err
}

// scrape reads the metrics of a server.
func scrape(ctx context.Context, s *target) (c cost, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.JoinPath("metrics").String(), http.NoBody)
	if err != nil {
		return c, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "process_cpu_seconds_total":
			c.server = time.Duration(n * float64(time.Second))
		case "go_memstats_mallocs_total":
			c.mallocs = n
		}
	}
	return c, nil
}
