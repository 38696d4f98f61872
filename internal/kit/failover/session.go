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

// checkTimeout limits one check of a Redis, and one write of the mark.
const checkTimeout = 500 * time.Millisecond

// A session is one check of a Redis. For a single server it uses one connection, which
// cannot reach two servers.
type session struct {
	cmd     redis.Cmdable
	key     string
	cluster *redis.ClusterClient // nil for a single server
}

func (w *Detector) session(ctx context.Context, do func(ctx context.Context, s session) error) error {
	readCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	switch c := w.rdb.(type) {
	case *redis.Client:
		conn := c.Conn()
		defer func() { _ = conn.Close() }()
		return do(readCtx, session{cmd: conn, key: w.key})
	case *redis.ClusterClient:
		return do(readCtx, session{cmd: c, key: w.key, cluster: c})
	}
	return fmt.Errorf("%w: a client of type %T", ErrNoIncarnation, w.rdb)
}

func (s session) incarnation(ctx context.Context) (string, error) {
	if s.cluster == nil {
		return incarnationOf(ctx, s.cmd)
	}
	var mu sync.Mutex
	var all []string
	err := s.cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		conn := node.Conn()
		defer func() { _ = conn.Close() }()
		id, err := incarnationOf(ctx, conn)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, id)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read masters of cluster: %w", err)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, " ")))
	return hex.EncodeToString(sum[:]), nil
}

// errReplica is returned for a replica: it has another run id, and accepts no mark.
var errReplica = errors.New("read incarnation of Redis: server is a replica")

func incarnationOf(ctx context.Context, server redis.Cmdable) (string, error) {
	info := make(map[string]string)
	for _, section := range []string{"server", "replication"} {
		text, err := server.Info(ctx, section).Result()
		if refused(err) {
			return "", fmt.Errorf("%w: %w", ErrNoIncarnation, err)
		}
		if err != nil {
			return "", fmt.Errorf("read INFO of Redis: %w", err)
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

// refused reports whether a server lacks INFO or its section, or denies it to this user.
func refused(err error) bool {
	return slices.ContainsFunc([]string{"unknown command", "section", "NOPERM"}, func(prefix string) bool {
		return redis.HasErrorPrefix(err, prefix)
	})
}

// now returns the time of the server. On a cluster any server will do: losses are never Known.
func (s session) now(ctx context.Context) (time.Time, error) {
	now, err := s.cmd.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("read clock of Redis: %w", err)
	}
	return now, nil
}
