package failover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookPatience is the longest that one look at a Redis takes, and one mark.
const lookPatience = 500 * time.Millisecond

// A session is one look at a Redis: of a single server by one connection, which
// cannot meet two servers.
type session struct {
	one     redis.Cmdable
	key     string
	cluster *redis.ClusterClient // nil for a single server
}

// session calls do with a session and a context for what is read.
func (w *Detector) session(ctx context.Context, do func(ctx context.Context, s session) error) error {
	look, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	switch c := w.rdb.(type) {
	case *redis.Client:
		conn := c.Conn()
		defer func() { _ = conn.Close() }()
		return do(look, session{one: conn, key: w.key})
	case *redis.ClusterClient:
		return do(look, session{one: c, key: w.key, cluster: c})
	}
	return fmt.Errorf("%w: a client of type %T", ErrNoIncarnation, w.rdb)
}

func (s session) incarnation(ctx context.Context) (string, error) {
	if s.cluster == nil {
		return incarnationOf(ctx, s.one)
	}
	var mu sync.Mutex
	var all []string
	err := s.cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		conn := node.Conn()
		defer func() { _ = conn.Close() }()
		is, err := incarnationOf(ctx, conn)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, is)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("ask the masters of the cluster: %w", err)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, " ")))
	return hex.EncodeToString(sum[:]), nil
}

// errReplica: what a replica says is about itself, and it takes no mark.
var errReplica = errors.New("this Redis is a replica")

// incarnationOf asks one server.
func incarnationOf(ctx context.Context, server redis.Cmdable) (string, error) {
	info := make(map[string]string)
	for _, section := range []string{"server", "replication"} {
		text, err := server.Info(ctx, section).Result()
		if refused(err) {
			return "", fmt.Errorf("%w: %w", ErrNoIncarnation, err)
		}
		if err != nil {
			return "", fmt.Errorf("ask Redis who it is: %w", err)
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			info[name] = value
		}
	}
	switch {
	case info["run_id"] == "" || info["master_replid"] == "":
		return "", ErrNoIncarnation
	case info["role"] != "master":
		return "", errReplica
	}
	return info["run_id"] + ":" + info["master_replid"], nil
}

// refused reports whether a server answered that it serves no such INFO: it has
// no such command or section, or not for this user.
func refused(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "section", "NOPERM"}, func(prefix string) bool {
		return redis.HasErrorPrefix(err, prefix)
	})
}

// now is the time of the server's clock; of a cluster any server's, for nothing is
// known of its losses but that there are some.
func (s session) now(ctx context.Context) (time.Time, error) {
	now, err := s.one.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask Redis the time: %w", err)
	}
	return now, nil
}
