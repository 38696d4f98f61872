package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// ErrNoPostgres reports that PostgreSQL is not installed.
var ErrNoPostgres = errors.New("needs PostgreSQL (initdb and postgres) on PATH, and as root also setpriv")

// Postgres is a PostgreSQL server that ends with this process. It syncs commits to disk, as in
// production.
type Postgres struct {
	URL      string
	cmd      *exec.Cmd
	lifeline io.Closer
}

// StartPostgres starts an empty server; call Stop to end it. Options are added to its command line,
// for example "-c", "wal_level=logical". It returns [ErrNoPostgres] if PostgreSQL is not installed.
func StartPostgres(ctx context.Context, options ...string) (*Postgres, error) {
	return openPostgres(ctx, nil, options)
}

// StartRestored is like [StartPostgres], but fill writes the data directory first, for example from
// a base backup.
func StartRestored(ctx context.Context, fill func(data string) error, options ...string) (*Postgres, error) {
	return openPostgres(ctx, fill, options)
}

// openPostgres starts a server on the data of fill, or an empty server if fill is nil.
func openPostgres(ctx context.Context, fill func(data string) error, options []string) (*Postgres, error) {
	as, owner, err := postgresUser()
	if err != nil {
		return nil, err
	}
	postgres, initdb, err := FindPostgres()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "td")
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	data := filepath.Join(dir, "data")
	if fill == nil {
		err = initDatabase(ctx, dir, data, as, owner, initdb)
	} else {
		err = errors.Join(os.Mkdir(data, 0o700), fill(data), chownAll(dir, owner))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s, err := startPostgres(ctx, dir, data, as, postgres, options)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// initDatabase creates an empty database cluster.
func initDatabase(ctx context.Context, dir, data string, as []string, owner int, initdb string) error {
	if err := chownAll(dir, owner); err != nil {
		return err
	}
	args := slices.Concat(as, []string{initdb, "--no-sync", "--no-instructions", "-A", "trust", "-U", "tandian", "--encoding=UTF8", "--locale=C", "-D", data})
	create := exec.CommandContext(ctx, args[0], args[1:]...)
	create.Dir = dir
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("create database cluster: %w: %s", err, out)
	}
	return nil
}

// chownAll changes the owner of a directory tree to the user that runs PostgreSQL.
func chownAll(dir string, owner int) error {
	if owner < 0 {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, owner, -1)
	})
	if err != nil {
		return fmt.Errorf("change owner of PostgreSQL directory: %w", err)
	}
	return nil
}

func startPostgres(ctx context.Context, dir, data string, as []string, postgres string, options []string) (*Postgres, error) {
	cmd, lifeline, err := guarded(ctx, "QUIT", dir, slices.Concat(as, []string{
		postgres, "-D", data,
		"-c", "listen_addresses=", "-c", "unix_socket_directories=" + dir, "-c", "shared_buffers=256MB", "-c", "max_connections=200",
		"-c", "max_wal_size=2GB", "-c", "jit=off", "-c", "timezone=UTC",
	}, options))
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return &Postgres{URL: "postgres:///postgres?sslmode=disable&user=tandian&host=" + url.QueryEscape(dir), cmd: cmd, lifeline: lifeline}, nil
}

// postgresUser returns the command prefix that drops root privileges, and the owner of the data
// directory. If the process is not root, there is no prefix and owner is -1.
func postgresUser() (as []string, owner int, err error) {
	if os.Getuid() != 0 {
		return nil, -1, nil
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return nil, 0, ErrNoPostgres
	}
	nobody, err := user.Lookup("nobody")
	if err == nil {
		owner, err = strconv.Atoi(nobody.Uid)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look up user for PostgreSQL: %w", err)
	}
	return []string{setpriv, "--reuid", nobody.Uid, "--regid", nobody.Gid, "--clear-groups", "--"}, owner, nil
}

// FindPostgres returns the paths of the programs: on PATH, or the newest in Debian's directories. It
// returns [ErrNoPostgres] if there are none.
func FindPostgres() (postgres, initdb string, err error) {
	postgres, err1 := exec.LookPath("postgres")
	initdb, err2 := exec.LookPath("initdb")
	if err1 == nil && err2 == nil {
		// initdb finds postgres in its own directory, but not through a link.
		postgres, err1 = filepath.EvalSymlinks(postgres)
		initdb, err2 = filepath.EvalSymlinks(initdb)
		return postgres, initdb, errors.Join(err1, err2)
	}
	for version := 20; version >= 14; version-- {
		bin := fmt.Sprintf("/usr/lib/postgresql/%d/bin", version)
		_, err1 := os.Stat(filepath.Join(bin, "postgres"))
		_, err2 := os.Stat(filepath.Join(bin, "initdb"))
		if err1 == nil && err2 == nil {
			return filepath.Join(bin, "postgres"), filepath.Join(bin, "initdb"), nil
		}
	}
	return "", "", ErrNoPostgres
}

func (s *Postgres) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: s.URL})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { _ = db.Close() }()
	return db.Await(ctx, func(error) {})
}

// Stop ends the server and removes its data.
func (s *Postgres) Stop() {
	_ = s.lifeline.Close()
	_ = s.cmd.Wait()
}
