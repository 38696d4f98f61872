package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Topology is the kind of a world's Redis.
type Topology string

const (
	// OneRedis is a single server, behind a proxy for each client server.
	OneRedis Topology = ""
	// Cluster is three masters that share the slots, with one replica each.
	Cluster Topology = "cluster"
	// Sentinel is a master with two replicas and three sentinels.
	Sentinel Topology = "sentinel"
)

const (
	clusterMasters, clusterReplicas = 3, 1
	sentinelReplicas, sentinels     = 2, 3
	slots                           = 16384
	masterName                      = "tandian"

	// nodeTimeout is how long a master may be silent before it counts as dead. The default is
	// 15 s in a cluster and 30 s with Sentinel.
	nodeTimeout     = 2 * time.Second
	failoverTimeout = 30 * time.Second // for the promotion of a replica, and for the old master to become one
	formTimeout     = 30 * time.Second // for the servers to know each other
)

// group is a Redis deployment with automatic failover. Servers reach its nodes without
// proxies, because the group announces their addresses.
type group struct {
	kind      Topology
	masters   int
	nodes     []*redisNode
	sentinels []*Proc
	addrs     []string // of the sentinels
}

// openGroup starts the servers of a topology and returns when all are in sync.
func openGroup(ctx context.Context, dir string, kind Topology) (*group, error) {
	g := &group{kind: kind}
	var err error
	switch kind {
	case Cluster:
		g.masters = clusterMasters
		err = g.openCluster(ctx, dir)
	case Sentinel:
		g.masters = 1
		err = g.openSentinel(ctx, dir)
	default:
		err = fmt.Errorf("unknown topology %q", kind)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// add starts n servers, each with its own ports in its arguments.
func (g *group) add(ctx context.Context, dir string, n int, args func(bus int) []string) error {
	ports, err := freePorts(ctx, 2*n)
	if err != nil {
		return err
	}
	for i := range n {
		s, err := newRedis(dir, "redis-"+strconv.Itoa(i), ports[2*i], args(ports[2*i+1])...)
		if err != nil {
			return err
		}
		s.bus = ports[2*i+1]
		g.nodes = append(g.nodes, s)
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) openCluster(ctx context.Context, dir string) error {
	err := g.add(ctx, dir, clusterMasters*(1+clusterReplicas), func(bus int) []string {
		return []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus),
			"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10),
			"--cluster-require-full-coverage", "no", // a dead master makes only its own slots unavailable
		}
	})
	if err != nil {
		return err
	}
	for i, s := range g.nodes {
		err := s.with(func(rdb redis.UniversalClient) error {
			for _, other := range g.nodes[:i] {
				if err := rdb.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.port, other.bus).Err(); err != nil {
					return err
				}
			}
			if i >= clusterMasters {
				return nil
			}
			return rdb.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", i*slots/clusterMasters, (i+1)*slots/clusterMasters-1).Err()
		})
		if err != nil {
			return fmt.Errorf("form cluster: %w", err)
		}
	}
	for i, s := range g.nodes[clusterMasters:] {
		if err := g.replicateFrom(ctx, s, g.nodes[i%clusterMasters]); err != nil {
			return fmt.Errorf("form cluster: %w", err)
		}
	}
	return g.waitInSync(ctx)
}

// replicateFrom makes a cluster node the replica of another node, after it knows that node.
func (g *group) replicateFrom(ctx context.Context, replica, master *redisNode) error {
	var id string
	if err := master.with(func(rdb redis.UniversalClient) (err error) {
		id, err = rdb.Do(ctx, "CLUSTER", "MYID").Text()
		return err
	}); err != nil {
		return err
	}
	return until(ctx, formTimeout, "a node knows its master", func() error {
		return replica.with(func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "CLUSTER", "REPLICATE", id).Err() })
	})
}

func (g *group) openSentinel(ctx context.Context, dir string) error {
	err := g.add(ctx, dir, 1+sentinelReplicas, func(int) []string {
		// As in deploy/redis/watched.conf: a restarted old master accepts no writes before a
		// Sentinel makes it a replica.
		return []string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"}
	})
	if err != nil {
		return err
	}
	master := g.nodes[0]
	for _, s := range g.nodes[1:] {
		err := s.with(func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "REPLICAOF", "127.0.0.1", master.port).Err() })
		if err != nil {
			return fmt.Errorf("make replica: %w", err)
		}
	}
	if err := g.waitInSync(ctx); err != nil {
		return err
	}
	ports, err := freePorts(ctx, sentinels)
	if err != nil {
		return err
	}
	for i, port := range ports {
		if err := g.addSentinel(ctx, dir, "sentinel-"+strconv.Itoa(i), port, master.port); err != nil {
			return err
		}
	}
	return g.waitForSentinels(ctx)
}

// addSentinel starts a sentinel. It stores its state in its own configuration file.
func (g *group) addSentinel(ctx context.Context, dir, name string, port, master int) error {
	program, err := FindRedis()
	if err != nil {
		return err
	}
	home := filepath.Join(dir, name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("create directory of %s: %w", name, err)
	}
	file := filepath.Join(home, "sentinel.conf")
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor %s 127.0.0.1 %d 2\nsentinel down-after-milliseconds %[3]s %d\nsentinel failover-timeout %[3]s 10000\n",
		port, home, masterName, master, nodeTimeout.Milliseconds())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configure %s: %w", name, err)
	}
	addr := loopback(port)
	p := &Proc{
		Name: name, dir: home, log: filepath.Join(dir, name+".log"), env: os.Environ(), args: []string{program, file, "--sentinel"},
		probe: func(ctx context.Context) error {
			return withSentinel(addr, func(c *redis.SentinelClient) error { return c.Ping(ctx).Err() })
		},
	}
	g.sentinels, g.addrs = append(g.sentinels, p), append(g.addrs, addr)
	return p.Start(ctx)
}

func withSentinel(addr string, do func(c *redis.SentinelClient) error) error {
	c := redis.NewSentinelClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer func() { _ = c.Close() }()
	return do(c)
}

// waitForSentinels waits until each sentinel knows the others and both replicas. Before that
// they cannot agree that the master is dead.
func (g *group) waitForSentinels(ctx context.Context) error {
	return until(ctx, formTimeout, "the sentinels know each other", func() error {
		for _, addr := range g.addrs {
			if err := withSentinel(addr, func(c *redis.SentinelClient) error {
				m, err := c.Master(ctx, masterName).Result()
				if err == nil && (m["num-other-sentinels"] != strconv.Itoa(sentinels-1) || m["num-slaves"] != strconv.Itoa(sentinelReplicas)) {
					err = fmt.Errorf("%s knows %s other sentinels and %s replicas", addr, m["num-other-sentinels"], m["num-slaves"])
				}
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// url returns the address for servers and checks.
func (g *group) url() string {
	addrs := g.addrs
	if g.kind == Cluster {
		for _, s := range g.nodes {
			addrs = append(addrs, s.addr())
		}
		return "redis+cluster://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
	}
	return "redis+sentinel://" + addrs[0] + "/?master_name=" + masterName + "&addr=" + strings.Join(addrs[1:], "&addr=")
}

// roles returns the masters and the replicas in sync, of the servers that answer.
func (g *group) roles(ctx context.Context) (masters, replicas []*redisNode) {
	info := make([]map[string]string, len(g.nodes))
	var all sync.WaitGroup
	for i, s := range g.nodes {
		all.Go(func() { info[i] = s.replication(ctx) })
	}
	all.Wait()
	for i, s := range g.nodes {
		switch {
		case info[i]["role"] == "master" && (g.kind != Cluster || info[i]["owns"] != ""):
			masters = append(masters, s)
		case info[i]["role"] == "slave" && info[i]["master_link_status"] == "up" && info[i]["master_sync_in_progress"] == "0":
			replicas = append(replicas, s)
		}
	}
	return masters, replicas
}

// replication returns the replication section of INFO. The key "owns" is set if the node owns
// slots of a cluster. The result is empty if the node does not answer.
func (s *redisNode) replication(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	section := map[string]string{}
	_ = s.with(func(rdb redis.UniversalClient) error { // a dead node has no section
		text, err := rdb.Info(ctx, "replication").Result()
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			section[name] = value
		}
		nodes, clusterErr := rdb.ClusterNodes(ctx).Result()
		for line := range strings.Lines(nodes) {
			if fields := strings.Fields(line); clusterErr == nil && len(fields) > 8 && strings.Contains(fields[2], "myself") {
				section["owns"] = fields[8]
			}
		}
		return err
	})
	return section
}

// waitInSync waits until the expected number of masters is up and all other nodes are in
// sync.
func (g *group) waitInSync(ctx context.Context) error {
	return until(ctx, formTimeout, "all replicas are in sync", func() error {
		masters, replicas := g.roles(ctx)
		if len(masters) != g.masters || len(masters)+len(replicas) != len(g.nodes) {
			return fmt.Errorf("got %d masters and %d replicas in sync", len(masters), len(replicas))
		}
		return nil
	})
}

// until retries an operation until it succeeds, or returns its last error.
func until(ctx context.Context, patience time.Duration, what string, try func() error) error {
	for deadline := time.Now().Add(patience); ; {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || clock.Sleep(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
	}
}

// procs returns all processes.
func (g *group) procs() []*Proc {
	var all []*Proc
	for _, s := range g.nodes {
		all = append(all, s.Proc)
	}
	return append(all, g.sentinels...)
}

func (g *group) close() error {
	var failed []error
	for _, s := range g.nodes {
		failed = append(failed, s.close())
	}
	for _, p := range g.sentinels {
		failed = append(failed, p.Kill9())
	}
	return errors.Join(failed...)
}

// killMaster kills a random master. The end of the fault waits for the promotion of a
// replica, restarts the old master and waits until it is a replica.
func (g *group) killMaster(ctx context.Context, r *rand.Rand) (end func(context.Context) error, err error) {
	masters, _ := g.roles(ctx)
	if len(masters) == 0 {
		return nil, ErrNothing
	}
	dead := pick(r, masters)
	if err := dead.Kill9(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := until(ctx, failoverTimeout, "a replica is promoted", func() error {
			if masters, _ := g.roles(ctx); len(masters) != g.masters {
				return fmt.Errorf("got %d masters", len(masters))
			}
			return nil
		})
		return errors.Join(err, dead.Start(ctx), g.waitInSync(ctx))
	}, nil
}

// KillMaster kills a master of a cluster, or the master that the sentinels monitor, by
// SIGKILL. A replica is promoted automatically; writes that it did not receive are lost.
func KillMaster() Fault {
	return Fault{Name: "kill-master", LosesData: true, Lasts: between(5*time.Second, 6*time.Second), Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		if w.group == nil {
			return nil, ErrNothing
		}
		return w.group.killMaster(ctx, r)
	}}
}
