package soak

import (
	"context"
	"crypto/rand"
	_ "embed" // statements
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/testbed"
)

var (
	//go:embed sql/marks.sql
	marksSQL string
	//go:embed sql/places.sql
	placesSQL string
)

const (
	servers   = 2
	maxPlaces = 5000 // locations of users
)

// A stage holds stores and servers for one run, as in production: a durable Redis for state, one
// without persistence for caches, and a durable Postgres.
type stage struct {
	pg           *subprocess.Postgres
	state, cache *subprocess.Redis
	codes        *testbed.Codes
	db           *sqldb.SQL
	processes    []*subprocess.Process[struct{}, Addr]
	urls         []string
	closers      []func()
}

// Addr is the answer of a server process: its listen address, HOST:PORT.
type Addr string

// Process runs one of the servers. start starts it and returns its address. It ends with the
// measuring process.
func Process(in io.Reader, out io.Writer, start func() (addr string, err error)) error {
	return subprocess.Serve(in, out, func(struct{}) (func(struct{}) Addr, error) {
		addr, err := start()
		if err != nil {
			return nil, err
		}
		return func(struct{}) Addr { return Addr(addr) }, nil
	})
}

func (s *stage) close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

// openStores opens all stores.
func (s *stage) openStores(ctx context.Context) (err error) {
	if s.pg, err = subprocess.StartPostgres(ctx, "-c", "wal_level=logical"); err != nil {
		return err
	}
	s.closers = append(s.closers, s.pg.Stop)
	if s.state, err = subprocess.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory", "512mb", "--maxmemory-policy", "noeviction"); err != nil {
		return err
	}
	s.closers = append(s.closers, s.state.Stop)
	if s.cache, err = subprocess.StartRedis(ctx, "--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lfu"); err != nil {
		return err
	}
	s.closers = append(s.closers, s.cache.Stop)
	if s.codes, err = testbed.ServeCodes(ctx, rand.Text()); err != nil {
		return fmt.Errorf("serve the webhook of login codes: %w", err)
	}
	s.closers = append(s.closers, func() { _ = s.codes.Close() })
	if s.db, err = sqldb.OpenSQL(sqldb.SQLConfig{URL: s.pg.URL}); err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = s.db.Close() })
	return nil
}

// settings returns the settings of the program on these stores: those of production, and an address
// of its own for each client. No limit is lifted.
func (s *stage) settings(dir string) []string {
	return []string{
		"--database-url", s.pg.URL, "--redis-url", s.state.URL, "--redis-cache-url", s.cache.URL,
		"--addr", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1", "--media-url", "file://" + filepath.Join(dir, "media"),
		"--code-sender", "webhook", "--code-webhook-url", s.codes.URL, "--zone", "UTC", "--l1-bytes", strconv.Itoa(64 << 20),
		"--log-format", "json", "--log-level", "warn", "--fake-payments",
	}
}

// command starts a process of this program. Its settings do not come from the environment.
func (s *stage) command(again func(args ...string) *exec.Cmd, process, dir string, args ...string) *exec.Cmd {
	cmd := again(slices.Concat([]string{process}, s.settings(dir), args)...)
	cmd.Env = append(testbed.Environment(), "TANDIAN_CODE_WEBHOOK_SECRET="+s.codes.Secret)
	return cmd
}

// seed fills the stores with a town, and returns its users.
func (s *stage) seed(ctx context.Context, o Options, dir string) ([]person, error) {
	tokens := filepath.Join(dir, "tokens")
	town := testbed.Town{Users: o.Users, Shops: o.Shops, Notes: o.Notes, Follows: o.Follows, Seed: o.Seed}
	cmd := s.command(o.Command, "tandian", dir, town.Arguments(tokens)...)
	cmd.Stdout, cmd.Stderr = o.Progress, o.Progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("seed the town: %w", err)
	}
	sessions, err := testbed.ReadSessions(tokens)
	if err != nil {
		return nil, err
	}
	var people []person
	for i, at := range sessions {
		people = append(people, person{n: i + 1, id: at.ID, token: at.Token, visitor: fmt.Sprintf("tandian_visitor=%022d", i)})
	}
	if len(people) != o.Users {
		return nil, fmt.Errorf("read the sessions of the town: got %d, want %d", len(people), o.Users)
	}
	return people, testbed.Settle(ctx, s.db)
}

// startServers starts the servers one after the other: the first migrates.
func (s *stage) startServers(ctx context.Context, o Options, dir string) error {
	for i := range servers {
		log, err := os.Create(filepath.Join(o.Dir, fmt.Sprintf("server-%d.log", i+1)))
		if err != nil {
			return fmt.Errorf("open the log of a server: %w", err)
		}
		s.closers = append(s.closers, func() { _ = log.Close() })
		cmd := s.command(o.Command, "soak", dir)
		cmd.Stderr = log
		p, err := subprocess.StartProcess[struct{}, Addr](cmd, struct{}{})
		if err != nil {
			return err
		}
		s.closers = append(s.closers, p.Kill)
		wait, cancel := context.WithTimeout(ctx, 2*subprocess.Patience)
		addr, err := p.Call(wait, struct{}{})
		cancel()
		if err != nil {
			return fmt.Errorf("start server %d (see its log): %w", i+1, err)
		}
		s.processes = append(s.processes, p)
		s.urls = append(s.urls, "http://"+string(addr))
	}
	return nil
}

// crowd returns the users of the town and the ids that they know.
func (s *stage) crowd(ctx context.Context, o Options, people []person, api *client) (*crowd, error) {
	c := &crowd{
		api: api, seed: o.Seed, people: people, codes: s.codes, paying: paying(),
		shops: span{kind: "Shop"}, notes: span{kind: "Note"}, published: func(string, time.Time) {},
	}
	err := s.db.QueryRowContext(ctx, sqldb.Statement(marksSQL)).Scan(&c.shops.first, &c.shops.last, &c.notes.first, &c.notes.last)
	if err != nil {
		return nil, fmt.Errorf("read the town: %w", err)
	}
	if c.shops.last-c.shops.first+1 != int64(o.Shops) || c.notes.last-c.notes.first+1 != int64(o.Notes) {
		return nil, fmt.Errorf("ids of the town have gaps: shops %d to %d, notes %d to %d", c.shops.first, c.shops.last, c.notes.first, c.notes.last)
	}
	rows, err := s.db.QueryContext(ctx, sqldb.Statement(placesSQL), maxPlaces)
	if err != nil {
		return nil, fmt.Errorf("read places: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var at [2]float64
		if err := rows.Scan(&at[0], &at[1]); err != nil {
			return nil, fmt.Errorf("read places: %w", err)
		}
		c.places = append(c.places, at)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read places: %w", err)
	}
	var types struct{ ShopTypes []struct{ ID string } }
	if err := api.ask(ctx, person{}, "ShopTypes", nil, &types); err != nil {
		return nil, fmt.Errorf("read the types of shops: %w", err)
	}
	for _, t := range types.ShopTypes {
		c.types = append(c.types, t.ID)
	}
	return c, nil
}
