package testbed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// A Town holds the sizes of the data that `tandian seed` generates.
type Town struct {
	Users, Shops, Notes, Follows int
	Seed                         uint64
}

// Arguments returns the arguments of the command, which writes sessions of its users to a file.
func (t Town) Arguments(sessions string) []string {
	return []string{
		"seed", "--users", strconv.Itoa(t.Users), "--shops", strconv.Itoa(t.Shops), "--notes", strconv.Itoa(t.Notes),
		"--follows", strconv.Itoa(t.Follows), "--pictures=false", "--seed", strconv.FormatUint(t.Seed, 10), "--tokens", sessions,
	}
}

// A Session is the session of a user of a town.
type Session struct{ ID, Role, Token string }

// ReadSessions reads the file that `tandian seed --tokens` writes.
func ReadSessions(path string) (all []Session, err error) {
	file, err := os.Open(path) //nolint:gosec // the path comes from this program or its user
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			return nil, errors.New("read sessions: a line does not have three fields")
		}
		all = append(all, Session{fields[0], fields[1], fields[2]})
	}
	return all, nil
}

// Address returns a private network address for each n, as in the header of a proxy.
func Address(n int) string { return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255) }

// Settle runs the maintenance that PostgreSQL would otherwise run during a measurement.
func Settle(ctx context.Context, db *sqldb.SQL) error {
	for _, settle := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := db.ExecContext(ctx, settle); err != nil {
			return fmt.Errorf("maintain the tables: %w", err)
		}
	}
	return nil
}

// Environment returns the environment of this process without settings of a server.
func Environment() (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "TANDIAN_") && name != "DATABASE_URL" && name != "REDIS_URL" && name != "REDIS_CACHE_URL" {
			env = append(env, v)
		}
	}
	return env
}
