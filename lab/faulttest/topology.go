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

// A Topology is what a world's Redis consists of.
type Topology string

const (
	// OneRedis is a single server, behind a proxy for each of the servers that use it.
	OneRedis Topology = ""
	// Cluster is three masters that share the slots, with a replica each.
	Cluster Topology = "cluster"
	// Sentinel is a master with two replicas, and three sentinels who say which is which.
	Sentinel Topology = "sentinel"
)

const (
	clusterMasters, clusterReplicas = 3, 1
	sentinelReplicas, sentinels     = 2, 3
	slots                           = 16384
	masterName                      = "tandian"

	// nodeTimeout is after which a master that is silent counts as dead. The default of a
	// cluster is fifteen seconds, that of Sentinel thirty.
	nodeTimeout      = 2 * time.Second
	failoverPatience = 30 * time.Second // until a replica is promoted, and until who comes back is one
	formPatience     = 30 * time.Second // until the servers know each other
)

// A group is several Redis servers that look after themselves: they promote a replica when
// a master dies. Servers reach all of them without a proxy, since they are told addresses
// by the group.
type group struct {
	kind      Topology
	masters   int
	nodes     []*redisNode
	sentinels []*Proc
	addrs     []string // of the sentinels
}

// openGroup starts the servers of a topology and returns when all are in step.
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
		err = fmt.Errorf("there is no topology %q", kind)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// add starts n servers, each with ports of its own in its arguments.
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
			"--cluster-require-full-coverage", "no", // a dead master takes its own slots away, and no others
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
			return fmt.Errorf("form the cluster: %w", err)
		}
	}
	for i, s := range g.nodes[clusterMasters:] {
		if err := g.follow(ctx, s, g.nodes[i%clusterMasters]); err != nil {
			return fmt.Errorf("form the cluster: %w", err)
		}
	}
	return g.inStep(ctx)
}

// follow makes a node of a cluster the replica of another one, once it has heard of it.
func (g *group) follow(ctx context.Context, replica, master *redisNode) error {
	var id string
	if err := master.with(func(rdb redis.UniversalClient) (err error) {
		id, err = rdb.Do(ctx, "CLUSTER", "MYID").Text()
		return err
	}); err != nil {
		return err
	}
	return until(ctx, formPatience, "a node knows its master", func() error {
		return replica.with(func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "CLUSTER", "REPLICATE", id).Err() })
	})
}

func (g *group) openSentinel(ctx context.Context, dir string) error {
	err := g.add(ctx, dir, 1+sentinelReplicas, func(int) []string {
		// As deploy/redis/watched.conf has it: the old master that is started again takes
		// no writes before a Sentinel has made it a replica.
		return []string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"}
	})
	if err != nil {
		return err
	}
	master := g.nodes[0]
	for _, s := range g.nodes[1:] {
		err := s.with(func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "REPLICAOF", "127.0.0.1", master.port).Err() })
		if err != nil {
			return fmt.Errorf("make a replica: %w", err)
		}
	}
	if err := g.inStep(ctx); err != nil {
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
	return g.sentinelsAgree(ctx)
}

// addSentinel starts one. It writes down in its file what it learns, so the file is its own.
func (g *group) addSentinel(ctx context.Context, dir, name string, port, master int) error {
	program, err := FindRedis()
	if err != nil {
		return err
	}
	home := filepath.Join(dir, name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("make a directory for %s: %w", name, err)
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
		answers: func(ctx context.Context) error {
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

// sentinelsAgree waits until each knows the others and both replicas: before, they could
// not agree that the master is dead.
func (g *group) sentinelsAgree(ctx context.Context) error {
	return until(ctx, formPatience, "the sentinels know each other", func() error {
		for _, addr := range g.addrs {
			if err := withSentinel(addr, func(c *redis.SentinelClient) error {
				m, err := c.Master(ctx, masterName).Result()
				if err == nil && (m["num-other-sentinels"] != strconv.Itoa(sentinels-1) || m["num-slaves"] != strconv.Itoa(sentinelReplicas)) {
					err = fmt.Errorf("%s knows %s sentinels and %s replicas", addr, m["num-other-sentinels"], m["num-slaves"])
				}
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// url is what servers and checks are told.
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

// roles says what the servers say that they are, of those that answer.
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

// replication is that section of INFO, and whether the node owns slots; empty if it does
// not answer.
func (s *redisNode) replication(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	says := map[string]string{}
	_ = s.with(func(rdb redis.UniversalClient) error { // one that is dead says nothing
		text, err := rdb.Info(ctx, "replication").Result()
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			says[name] = value
		}
		nodes, clusterErr := rdb.ClusterNodes(ctx).Result()
		for line := range strings.Lines(nodes) {
			if fields := strings.Fields(line); clusterErr == nil && len(fields) > 8 && strings.Contains(fields[2], "myself") {
				says["owns"] = fields[8]
			}
		}
		return err
	})
	return says
}

// inStep waits until there are as many masters as there should be, and everybody else has
// what they have.
func (g *group) inStep(ctx context.Context) error {
	return until(ctx, formPatience, "all replicas are in step", func() error {
		masters, replicas := g.roles(ctx)
		if len(masters) != g.masters || len(masters)+len(replicas) != len(g.nodes) {
			return fmt.Errorf("there are %d masters and %d replicas in step", len(masters), len(replicas))
		}
		return nil
	})
}

// until tries something until it succeeds.
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

// procs are all processes.
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

// killMaster ends a master, of r's choice. The end of the fault waits until a replica took
// its place, starts it again, and waits until it is the other's replica.
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
		err := until(ctx, failoverPatience, "a replica is promoted", func() error {
			if masters, _ := g.roles(ctx); len(masters) != g.masters {
				return fmt.Errorf("there are %d masters", len(masters))
			}
			return nil
		})
		return errors.Join(err, dead.Start(ctx), g.inStep(ctx))
	}, nil
}

// KillMaster ends a master of a cluster, or the one that the sentinels watch, by SIGKILL.
// A replica takes its place by itself; what it was not told is lost.
func KillMaster() Fault {
	return Fault{Name: "kill-master", Forgets: true, Lasts: between(5*time.Second, 6*time.Second), Begin: func(ctx context.Context, w *World, r *rand.Rand) (func(context.Context) error, error) {
		if w.group == nil {
			return nil, ErrNothing
		}
		return w.group.killMaster(ctx, r)
	}}
}
