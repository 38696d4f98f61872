package faulttest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// postgres is a private server with durable commits: fsync is on.
type postgres struct {
	*Proc
	port       int
	home       string              // removed by close
	program    string              // path of the executable
	credential *syscall.Credential // user of the process; nil for the current user
}

// openPostgres creates an empty database and starts its server. It returns
// [subprocess.ErrNoPostgres] if no executable is found.
func openPostgres(ctx context.Context, dir string, port int) (*postgres, error) {
	program, initdb, err := subprocess.FindPostgres()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	s := &postgres{port: port, program: program, credential: as}
	if s.home, err = homeOf(as, dir); err != nil {
		return nil, err
	}
	data := filepath.Join(s.home, "data")
	create := exec.CommandContext(ctx, initdb, "--no-sync", "--no-instructions", "-A", "trust", "-U", "tandian", "--encoding=UTF8", "--locale=C", "-D", data) //nolint:gosec // the path comes from FindPostgres
	create.Dir, create.SysProcAttr = s.home, &syscall.SysProcAttr{Credential: as}
	if out, err := create.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("create database: %w: %s", err, out), s.remove())
	}
	s.Proc = s.proc("PostgreSQL", data, filepath.Join(dir, "postgres.log"))
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// proc returns the server's process on the files in data.
func (s *postgres) proc(name, data, log string) *Proc {
	return &Proc{
		Name: name, dir: s.home, log: log, credential: s.credential, hasChildren: true, probe: s.ping, env: os.Environ(),
		args: []string{
			s.program, "-D", data, "-p", strconv.Itoa(s.port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "wal_level=logical", "-c", "fsync=on", "-c", "synchronous_commit=on",
			"-c", "shared_buffers=64MB", "-c", "max_connections=200", "-c", "max_wal_size=1GB", "-c", "jit=off", "-c", "timezone=UTC", "-c", "log_timezone=UTC",
		},
	}
}

// homeOf creates a directory for the server's data. It is in dir, unless the server runs as
// another user, which may lack access to dir.
func homeOf(as *syscall.Credential, dir string) (string, error) {
	if as != nil { // root: TMPDIR may be private to root; scripts/servers.sh does the same
		dir = "/tmp"
	}
	home, err := os.MkdirTemp(dir, "tandian-postgres")
	if err != nil {
		return "", fmt.Errorf("create PostgreSQL directory: %w", err)
	}
	if as != nil {
		if err := os.Chown(home, int(as.Uid), int(as.Gid)); err != nil {
			return "", errors.Join(fmt.Errorf("change owner of PostgreSQL directory: %w", err), os.RemoveAll(home))
		}
	}
	return home, nil
}

// unprivileged returns the user for PostgreSQL, which refuses to run as root. nil means the
// current user.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // the current user
	}
	account, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("find user for PostgreSQL: %w", err)
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return nil, fmt.Errorf("find user for PostgreSQL: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (s *postgres) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// url returns the address without proxies.
func (s *postgres) url() string { return databaseURL(s.addr()) }

func databaseURL(addr string) string {
	return "postgres://tandian@" + addr + "/postgres?sslmode=disable"
}

func (s *postgres) ping(ctx context.Context) error {
	return s.with(func(db *sql.DB) error { return db.PingContext(ctx) })
}

// with opens the database and calls do.
func (s *postgres) with(do func(db *sql.DB) error) error {
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: s.url(), MaxConns: 1})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { _ = db.Close() }()
	return do(db.DB)
}

// close stops the server and removes its data.
func (s *postgres) close() error {
	return errors.Join(s.Kill9(), s.remove())
}

func (s *postgres) remove() error { return os.RemoveAll(s.home) }
