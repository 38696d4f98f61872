package flashsale

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	certifyEvery   = 2 * time.Second        // without a kick
	certifyPause   = 20 * time.Millisecond  // minimum pause between two runs
	retryPause     = 100 * time.Millisecond // after a failed or incomplete run
	probeTimeout   = 2 * time.Second        // of one probe
	compareTimeout = 2 * time.Minute        // of the comparison of one sale
)

// errUncertified reports that this process has not yet seen a comparison of the current Redis
// with the database, so it admits nothing there.
var errUncertified error = uncertifiedError{}

type uncertifiedError struct{}

func (uncertifiedError) Error() string { return "Redis is not certified for flash sales" }

// Unsent reports that Redis did not receive the command. Package redisdb checks for this
// method.
func (uncertifiedError) Unsent() bool { return true }

// certificates records which Redis servers may admit.
//
// An incarnation is one life of a server as a master. The marker of a partition names the
// incarnation that was compared with the database, followed by a random word. After a flush the
// server is the same, but the marker is missing.
type certificates struct {
	current     atomic.Pointer[certificate]
	unreachable atomic.Pointer[[]bool] // partitions without an answer to the last probe
	kicked      chan struct{}          // buffer of one: a request for a run

	mu         sync.Mutex
	suspects   []suspectPartition // by partition
	incomplete map[int64]bool     // vouchers of sales that admit.lua found incomplete
}

// suspectPartition records that a partition may lack orders that were stored past Redis.
type suspectPartition struct {
	count   int  // number of suspicions; a certificate is valid only if it has not changed meanwhile
	suspect bool // a certificate needs a comparison by this process
}

// certificate names the certified markers and servers. It is immutable.
type certificate struct {
	markers []string        // by partition, "" without a certificate
	servers map[string]bool // incarnations that may be connected to
}

func newCertificates(partitions int) *certificates {
	c := &certificates{kicked: make(chan struct{}, 1), suspects: make([]suspectPartition, partitions), incomplete: map[int64]bool{}}
	c.current.Store(&certificate{})
	c.unreachable.Store(&[]bool{})
	return c
}

func (c *certificate) marker(partition int) string {
	if partition < len(c.markers) {
		return c.markers[partition]
	}
	return ""
}

func (c *certificates) expected(partition int) string { return c.current.Load().marker(partition) }

// isUnreachable reports whether the last probe of a partition failed. Then no comparison is
// running, and admissions do not resume soon.
func (c *certificates) isUnreachable(partition int) bool {
	unseen := *c.unreachable.Load()
	return partition < len(unseen) && unseen[partition]
}

func (c *certificates) recordProbe(seen []partitionState) {
	unseen := make([]bool, len(seen))
	for p, got := range seen {
		unseen[p] = got.err != nil
	}
	c.unreachable.Store(&unseen)
}

// kick requests a run of certify.
func (c *certificates) kick() {
	select {
	case c.kicked <- struct{}{}:
	default:
	}
}

// markIncomplete requests a rebuild of a sale. If the sale is complete, the marker of its
// partition was not the expected one, and the run finds the new marker.
func (c *certificates) markIncomplete(voucher int64) {
	c.mu.Lock()
	if len(c.incomplete) < chunkSize {
		c.incomplete[voucher] = true
	}
	c.mu.Unlock()
	c.kick()
}

func (c *certificates) takeIncomplete() (vouchers []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.incomplete {
		vouchers = append(vouchers, v)
	}
	clear(c.incomplete)
	return vouchers
}

// suspect stops admissions of this process to partitions until it has compared their running
// sales with the database. Call it when Redis may lack orders that were stored past it.
func (c *certificates) suspect(partitions ...int) {
	c.mu.Lock()
	now := c.current.Load()
	cert := &certificate{markers: slices.Clone(now.markers), servers: now.servers}
	for _, p := range partitions {
		c.suspects[p].count++
		c.suspects[p].suspect = true
		if p < len(cert.markers) {
			cert.markers[p] = ""
		}
	}
	c.current.Store(cert)
	c.mu.Unlock()
	c.kick()
}

func (c *certificates) snapshotSuspects() []suspectPartition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.suspects)
}

// publish stores a certificate and clears the suspicions that it covers. It omits partitions with a
// newer suspicion than in begun, and returns false if there are any.
func (c *certificates) publish(begun []suspectPartition, cert *certificate) (all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = true
	for p := range cert.markers {
		switch {
		case c.suspects[p].count != begun[p].count:
			cert.markers[p], all = "", false
		case cert.markers[p] != "":
			c.suspects[p].suspect = false
		}
	}
	c.current.Store(cert)
	return all
}

// suspect is [certificates.suspect]. It also updates the metrics.
func (s *Service) suspect(partitions ...int) {
	s.admitter.certs.suspect(partitions...)
	for _, p := range partitions {
		s.m.setClosed(p, true)
	}
}

// MarkSuspect stops admissions of this process through Redis until it has compared all running
// sales with the database. Call it when the database may have lost its latest commits, for
// example after the promotion of a late standby. Until then orders bypass Redis.
func (s *Service) MarkSuspect() {
	all := make([]int, s.admitter.partitions)
	for p := range all {
		all[p] = p
	}
	s.suspect(all...)
}

// allowConn accepts a new connection of the sale client if its server is certified. A restart
// and a failover end all connections.
func (s *Service) allowConn(ctx context.Context, conn *redis.Conn) error {
	got, err := identify(ctx, conn)
	if err == nil && s.admitter.certs.current.Load().servers[got.incarnation] {
		return nil
	}
	s.admitter.certs.kick()
	if err != nil {
		return err
	}
	return errUncertified
}

type server struct {
	incarnation string
	policy      string // maxmemory-policy; "" if unknown
}

// evicts reports whether the server may drop keys of a sale, which have no expiry.
func (s server) evicts() bool { return strings.HasPrefix(s.policy, "allkeys-") }

// errReplica reports a replica. Its master may be ahead of it.
var errReplica = errors.New("this Redis is a replica")

var errNoRunID = errors.New("no run_id in INFO: flash sales bypass this Redis")

// identify reads the identity of the server behind one connection.
func identify(ctx context.Context, conn *redis.Conn) (server, error) {
	pipe := conn.Pipeline()
	parts := []*redis.StringCmd{pipe.Info(ctx, "server"), pipe.Info(ctx, "replication"), pipe.Info(ctx, "memory")}
	_, _ = pipe.Exec(ctx) // each command has its own error
	info := map[string]string{}
	for _, part := range parts {
		text, err := part.Result()
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return server{}, fmt.Errorf("read the identity of Redis: %w", err)
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			info[name] = value
		}
	}
	switch {
	case info["run_id"] == "":
		return server{}, errNoRunID
	case info["role"] != "master":
		return server{}, errReplica
	}
	return server{incarnation: info["run_id"] + ":" + info["master_replid"], policy: info["maxmemory_policy"]}, nil
}

// partitionState is the result of a probe for one partition.
type partitionState struct {
	server
	marker string
	err    error // the probe failed
}

// probe reads the server and the marker of each partition. A server that does not answer
// affects only its own partitions.
func (g *admitter) probe(ctx context.Context) []partitionState {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	known := map[string]partitionState{}
	seen := make([]partitionState, g.partitions)
	pipe := g.state.Pipeline()
	markers := make([]*redis.StringCmd, g.partitions)
	for p := range seen {
		markers[p] = pipe.Get(ctx, g.keys.open(p))
		node, err := g.nodeOf(ctx, p)
		if err != nil {
			seen[p].err = err
			continue
		}
		addr := node.Options().Addr
		if _, ok := known[addr]; !ok {
			conn := node.Conn()
			got, err := identify(ctx, conn)
			_ = conn.Close()
			known[addr] = partitionState{server: got, err: err}
		}
		seen[p] = known[addr]
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for p, cmd := range markers {
		var err error
		if seen[p].marker, err = cmd.Result(); err != nil && !errors.Is(err, redis.Nil) {
			seen[p].err = errors.Join(seen[p].err, fmt.Errorf("read marker of partition %d: %w", p, err))
		}
	}
	return seen
}

// nodeOf returns a client of the server that has a partition.
func (g *admitter) nodeOf(ctx context.Context, p int) (*redis.Client, error) {
	switch c := g.state.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, g.keys.open(p))
		if err != nil {
			return nil, fmt.Errorf("find node of partition %d: %w", p, err)
		}
		return node, nil
	}
	return nil, fmt.Errorf("unknown Redis client %T (want *redis.Client or *redis.ClusterClient)", g.state)
}

func (g *admitter) mark(ctx context.Context, p int, marker string) error {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	if err := g.state.Set(ctx, g.keys.open(p), marker, 0).Err(); err != nil {
		return fmt.Errorf("mark partition %d: %w", p, err)
	}
	return nil
}

// markers returns the markers of the partitions of a batch, "" for none.
func (g *admitter) markers(ctx context.Context, batch []delivery) (map[int]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	pipe := g.state.Pipeline()
	cmds := map[int]*redis.StringCmd{}
	for _, d := range batch {
		if cmds[d.partition] == nil {
			cmds[d.partition] = pipe.Get(ctx, g.keys.open(d.partition))
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	markers := make(map[int]string, len(cmds))
	for p, cmd := range cmds {
		var err error
		if markers[p], err = cmd.Result(); err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("read marker of partition %d: %w", p, err)
		}
	}
	return markers, nil
}

func markedFor(marker, incarnation string) bool {
	name, _, ok := strings.Cut(marker, " ")
	return ok && name == incarnation
}

// Certify updates the certificates of this process until ctx ends. It checks Redis every two
// seconds, and at once after an admission without a certificate or a suspicion. It also
// rebuilds sales that admissions found incomplete. Every process that admits runs it.
func (s *Service) Certify(ctx context.Context) error {
	certs := s.admitter.certs
	tick := time.NewTicker(certifyEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		pause := certifyPause
		again, err := s.certify(ctx)
		if err == nil {
			err = s.rebuildIncomplete(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.recordFailure(ctx, "certify Redis for sales", err)
		}
		if again || err != nil {
			certs.kick()
			pause = retryPause
		}
		if clock.Sleep(ctx, pause) != nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-certs.kicked:
		}
	}
	return nil
}

// certify is one run of Certify. again is true if another process is comparing a partition, or if a
// new suspicion arose during the run.
func (s *Service) certify(ctx context.Context) (again bool, err error) {
	certs := s.admitter.certs
	suspects := certs.snapshotSuspects() // first: a suspicion from here on invalidates the certificate
	before := certs.current.Load()
	seen := s.admitter.probe(ctx)
	certs.recordProbe(seen)
	s.warnPolicy(ctx, seen)
	cert := &certificate{markers: make([]string, len(seen)), servers: map[string]bool{}}
	for p, got := range seen {
		var marker string
		var e error
		switch {
		case got.err != nil: // existing connections stay valid
			marker, e = before.marker(p), got.err
		case got.evicts():
		case markedFor(got.marker, got.incarnation) && !suspects[p].suspect:
			marker = got.marker
		default:
			marker, e = s.reconcilePartition(ctx, p, got.incarnation, suspects[p].suspect)
			again = again || (marker == "" && e == nil)
		}
		err = errors.Join(err, e)
		if cert.markers[p] = marker; marker != "" {
			incarnation, _, _ := strings.Cut(marker, " ")
			cert.servers[incarnation] = true
		}
	}
	again = !certs.publish(suspects, cert) || again
	for p, marker := range cert.markers {
		s.m.setClosed(p, marker == "")
	}
	return again, err
}

// reconcilePartition compares all running sales of a partition with the database and returns
// the new marker, or "" if another process is comparing. It returns the marker of another
// process that was faster, unless the partition is suspect.
func (s *Service) reconcilePartition(ctx context.Context, p int, incarnation string, suspect bool) (marker string, err error) {
	_, err = s.tryLocked(ctx, "sale.partition."+strconv.Itoa(p), func(ctx context.Context) error {
		reading, cancel := context.WithTimeout(ctx, compareTimeout)
		defer cancel()
		got, err := s.admitter.state.Get(reading, s.admitter.keys.open(p)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if markedFor(got, incarnation) && !suspect {
			marker = got
			return nil
		}
		sales, err := s.running(reading, p, 0, 0)
		if err != nil {
			return err
		}
		q := queues{}
		for _, sale := range sales { // each sale has its own timeout, so the partition opens with any number of sales
			one, cancel := context.WithTimeout(ctx, compareTimeout)
			err := s.compareSale(one, sale, q)
			cancel()
			if err != nil {
				return err
			}
		}
		// Preload the script for the first admissions. They send it themselves if this fails.
		_ = admitScript.Load(reading, s.admitter.state).Err()
		m := incarnation + " " + rand.Text()
		if err := s.admitter.mark(ctx, p, m); err != nil {
			return err
		}
		marker = m
		s.m.incarnations.Inc()
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reconcile partition %d of sales: %w", p, err)
	}
	return marker, nil
}

// warnPolicy reports eviction policies that an operator must change.
func (s *Service) warnPolicy(ctx context.Context, seen []partitionState) {
	evicts := false
	for _, got := range seen {
		evicts = evicts || got.evicts()
		if got.err == nil && got.policy == "" && s.unreadable.CompareAndSwap(false, true) {
			s.cfg.Log.WarnContext(ctx, "cannot read Redis maxmemory-policy", "hint", "flash sales need a policy other than allkeys-*")
		}
	}
	s.m.evicting.Set(0)
	if evicts {
		s.m.evicting.Set(1)
		if s.evictions.Allow() {
			s.cfg.Log.ErrorContext(ctx, "flash sales bypass an evicting Redis", "hint", "set maxmemory-policy to noeviction")
		}
	}
}

// recordFailure counts a failure of a background operation, which is retried, and logs it at a
// limited rate.
func (s *Service) recordFailure(ctx context.Context, doing string, err error) {
	s.m.errors.Inc()
	if s.failures.Allow() {
		s.cfg.Log.WarnContext(ctx, "flash sale background operation failed", "doing", doing, "err", err)
	}
}
