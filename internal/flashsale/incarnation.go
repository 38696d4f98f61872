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
	certifyEvery   = 2 * time.Second        // without being kicked
	certifyPause   = 20 * time.Millisecond  // between two looks, however often they are asked for
	retryPause     = 100 * time.Millisecond // after a look that left something to do
	probeTimeout   = 2 * time.Second        // of one look
	compareTimeout = 2 * time.Minute        // of comparing a sale
)

// errUncertified is why nothing is admitted: this process has not seen yet that the
// Redis of the moment was compared with the database.
var errUncertified error = uncertifiedError{}

type uncertifiedError struct{}

func (uncertifiedError) Error() string { return "this Redis is not certified for sales" }

// Unsent says that Redis never saw the command, to who does not know this package.
func (uncertifiedError) Unsent() bool { return true }

// certificates is what a process knows about which Redis may admit.
//
// An incarnation is one life of one server as a master. A partition's marker is
// the incarnation that was compared with the database, and a random word: after a
// flush the server is the same, but the marker is not.
type certificates struct {
	current     atomic.Pointer[certificate]
	unreachable atomic.Pointer[[]bool] // partitions of which the last look got no answer
	kicked      chan struct{}          // holds one if somebody wants them looked at

	mu         sync.Mutex
	suspects   []suspectPartition // of each partition
	incomplete map[int64]bool     // vouchers that admit.lua found so
}

// A suspectPartition is about a partition in which orders may have been made past Redis.
type suspectPartition struct {
	count   int  // by each suspicion: what was begun before it certifies nothing
	suspect bool // a certificate needs a comparison of this process's own
}

// A certificate names what was reconciled. It is not changed any more.
type certificate struct {
	markers []string        // of each partition, "" while it has no certificate
	servers map[string]bool // incarnations to which a connection may be made
}

func newCertificates(partitions int) *certificates {
	c := &certificates{kicked: make(chan struct{}, 1), suspects: make([]suspectPartition, partitions), incomplete: map[int64]bool{}}
	c.current.Store(&certificate{})
	c.unreachable.Store(&[]bool{})
	return c
}

// marker is that of a partition, "" if it has no certificate.
func (c *certificate) marker(partition int) string {
	if partition < len(c.markers) {
		return c.markers[partition]
	}
	return ""
}

func (c *certificates) expected(partition int) string { return c.current.Load().marker(partition) }

// isUnreachable reports whether the last look at a partition got no answer: then nothing is
// being compared, and its door will not open soon.
func (c *certificates) isUnreachable(partition int) bool {
	unseen := *c.unreachable.Load()
	return partition < len(unseen) && unseen[partition]
}

// recordProbe notes which partitions answered a look.
func (c *certificates) recordProbe(seen []partitionState) {
	unseen := make([]bool, len(seen))
	for p, got := range seen {
		unseen[p] = got.err != nil
	}
	c.unreachable.Store(&unseen)
}

// kick has them looked at soon.
func (c *certificates) kick() {
	select {
	case c.kicked <- struct{}{}:
	default:
	}
}

// markIncomplete has a sale made whole soon; or if it is, the marker was not.
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

// suspect has this process admit nothing to partitions by Redis before it compared
// their running sales with the database: orders were made there that Redis does not know.
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

// publish makes a certificate hold, and ends the doubts about what it covers. It leaves
// out the partitions of which there was a suspicion since it was begun, and reports false
// if there are any.
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

// suspect is [certificates.suspect], which the metrics show at once.
func (s *Service) suspect(partitions ...int) {
	s.admitter.certs.suspect(partitions...)
	for _, p := range partitions {
		s.m.setClosed(p, true)
	}
}

// MarkSuspect has this process admit nothing by Redis before it has compared all running sales
// with the database, which may have lost its latest commits: a standby was promoted that
// was behind. Until then orders go past Redis.
func (s *Service) MarkSuspect() {
	all := make([]int, s.admitter.partitions)
	for p := range all {
		all[p] = p
	}
	s.suspect(all...)
}

// allowConn lets a connection of the sale client come into being, if its server is
// certified: a restart and a failover end all connections.
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

// A server is what a Redis says about itself.
type server struct {
	incarnation string
	policy      string // what it drops when its memory is full; "" if it does not say
}

// evicts reports whether it may drop keys of a sale, which do not expire.
func (s server) evicts() bool { return strings.HasPrefix(s.policy, "allkeys-") }

// errReplica: what it holds is another's, which may be ahead.
var errReplica = errors.New("this Redis is a replica")

var errNoRunID = errors.New("this Redis does not tell its run id: sales go through the database alone")

// identify asks one server, by one connection, who it is.
func identify(ctx context.Context, conn *redis.Conn) (server, error) {
	pipe := conn.Pipeline()
	parts := []*redis.StringCmd{pipe.Info(ctx, "server"), pipe.Info(ctx, "replication"), pipe.Info(ctx, "memory")}
	_, _ = pipe.Exec(ctx) // each command has its own error
	info := map[string]string{}
	for _, part := range parts {
		text, err := part.Result()
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return server{}, fmt.Errorf("ask Redis who it is: %w", err)
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

// A partitionState is what one look showed of a partition.
type partitionState struct {
	server
	marker string
	err    error // why nothing was seen
}

// probe asks for all partitions who holds them, and how they are marked. A server
// that does not answer hides its own partitions alone.
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
			seen[p].err = errors.Join(seen[p].err, fmt.Errorf("read the marker of partition %d: %w", p, err))
		}
	}
	return seen
}

// nodeOf is the client of the server where a partition lies.
func (g *admitter) nodeOf(ctx context.Context, p int) (*redis.Client, error) {
	switch c := g.state.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, g.keys.open(p))
		if err != nil {
			return nil, fmt.Errorf("find the node of partition %d: %w", p, err)
		}
		return node, nil
	}
	return nil, fmt.Errorf("a Redis client of type %T cannot hold sales", g.state)
}

func (g *admitter) mark(ctx context.Context, p int, marker string) error {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	if err := g.state.Set(ctx, g.keys.open(p), marker, 0).Err(); err != nil {
		return fmt.Errorf("mark partition %d: %w", p, err)
	}
	return nil
}

// markers reads the markers of the partitions of a batch, "" where there is none.
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
			return nil, fmt.Errorf("read the marker of partition %d: %w", p, err)
		}
	}
	return markers, nil
}

// markedFor reports whether a marker was written for an incarnation.
func markedFor(marker, incarnation string) bool {
	name, _, ok := strings.Cut(marker, " ")
	return ok && name == incarnation
}

// Certify keeps this process's certificates until ctx ends: it looks every two
// seconds, and at once when an admission found a server that it does not know, or a
// sale that is not whole, which it rebuilds. Every process that admits runs it.
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

// certify looks once. It reports whether another process is at work on a partition.
func (s *Service) certify(ctx context.Context) (again bool, err error) {
	certs := s.admitter.certs
	doubts := certs.snapshotSuspects() // first: what is kept below was no certificate after a suspicion
	before := certs.current.Load()
	seen := s.admitter.probe(ctx)
	certs.recordProbe(seen)
	s.warnPolicy(ctx, seen)
	cert := &certificate{markers: make([]string, len(seen)), servers: map[string]bool{}}
	for p, got := range seen {
		var marker string
		var e error
		switch {
		case got.err != nil: // connections that were made stay good
			marker, e = before.marker(p), got.err
		case got.evicts():
		case markedFor(got.marker, got.incarnation) && !doubts[p].suspect:
			marker = got.marker
		default:
			marker, e = s.reconcilePartition(ctx, p, got.incarnation, doubts[p].suspect)
			again = again || (marker == "" && e == nil)
		}
		err = errors.Join(err, e)
		if cert.markers[p] = marker; marker != "" {
			incarnation, _, _ := strings.Cut(marker, " ")
			cert.servers[incarnation] = true
		}
	}
	again = !certs.publish(doubts, cert) || again
	for p, marker := range cert.markers {
		s.m.setClosed(p, marker == "")
	}
	return again, err
}

// reconcilePartition compares all running sales of a partition with the database,
// unless another process does, and returns the new marker; "" if another is at it.
// Where another was faster, its marker will do if there is no doubt.
func (s *Service) reconcilePartition(ctx context.Context, p int, incarnation string, doubtful bool) (marker string, err error) {
	_, err = s.tryLocked(ctx, "sale.partition."+strconv.Itoa(p), func(ctx context.Context) error {
		reading, cancel := context.WithTimeout(ctx, compareTimeout)
		defer cancel()
		got, err := s.admitter.state.Get(reading, s.admitter.keys.open(p)).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if markedFor(got, incarnation) && !doubtful {
			marker = got
			return nil
		}
		sales, err := s.running(reading, p, 0, 0)
		if err != nil {
			return err
		}
		q := queues{}
		for _, sale := range sales { // each has its time: however many there are, the partition opens
			one, cancel := context.WithTimeout(ctx, compareTimeout)
			err := s.compareSale(one, sale, q)
			cancel()
			if err != nil {
				return err
			}
		}
		// So that the first admissions need not bring it along; they do where this failed.
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

// warnPolicy says what an operator has to change.
func (s *Service) warnPolicy(ctx context.Context, seen []partitionState) {
	evicts := false
	for _, got := range seen {
		evicts = evicts || got.evicts()
		if got.err == nil && got.policy == "" && s.unreadable.CompareAndSwap(false, true) {
			s.cfg.Log.WarnContext(ctx, "this Redis does not tell its maxmemory-policy; sales need one that is not allkeys-*")
		}
	}
	s.m.evicting.Set(0)
	if evicts {
		s.m.evicting.Set(1)
		if s.evictions.Allow() {
			s.cfg.Log.ErrorContext(ctx, "this Redis may evict any key, so sales go through the database alone; set maxmemory-policy to noeviction")
		}
	}
}

// recordFailure counts and seldom logs a failure in the background that is tried again.
func (s *Service) recordFailure(ctx context.Context, doing string, err error) {
	s.m.errors.Inc()
	if s.failures.Allow() {
		s.cfg.Log.WarnContext(ctx, "flash sales failed in the background; it is tried again", "doing", doing, "err", err)
	}
}
