package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// Scenario is a run on replicated stores in which one server dies.
type Scenario struct {
	Key     string // argument of lab cluster
	Name    string // the topology, for the report
	Redis   Topology
	Standby Standby
	Fault   string
	Cards   []PlannedFault
	Lasts   time.Duration // duration of the clients' load
}

// Scenarios returns the faults that replicated stores must survive. The seed decides which
// master dies and how far behind a standby is.
func Scenarios(seed uint64) []Scenario {
	const first, between = 6 * time.Second, 4 * time.Second
	master := func(n int) (cards []PlannedFault) {
		for i := range n {
			pause := between
			if i == 0 {
				pause = first
			}
			cards = append(cards, PlannedFault{After: pause, Faults: []Fault{KillMaster()}, Seed: seed + uint64(i)}) //nolint:gosec // few
		}
		return cards
	}
	promote := []PlannedFault{{After: first, Faults: []Fault{PromoteStandby()}, Seed: seed}}
	return []Scenario{
		{Key: "cluster", Name: "Redis Cluster, 3 + 3", Redis: Cluster, Fault: "two masters killed", Cards: master(2), Lasts: 35 * time.Second},
		{Key: "sentinel", Name: "Redis Sentinel, 1 + 2", Redis: Sentinel, Fault: "master killed", Cards: master(1), Lasts: 25 * time.Second},
		{Key: "sync", Name: "PostgreSQL, synchronous standby", Standby: Synchronous, Fault: "standby promoted", Cards: promote, Lasts: 20 * time.Second},
		{Key: "async", Name: "PostgreSQL, asynchronous standby", Standby: Asynchronous, Fault: "standby promoted", Cards: promote, Lasts: 20 * time.Second},
	}
}

// RunScenarios runs scenarios one after the other and prints a final table. broken reports
// whether a guarantee was broken. An error means that a run could not be completed.
func RunScenarios(ctx context.Context, cfg Config, all []Scenario) (broken bool, err error) {
	if cfg.Binary == "" {
		dir, err := os.MkdirTemp("", "tandian-faulttest-")
		if err != nil {
			return false, fmt.Errorf("create folder for server program: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if cfg.Binary, err = BuildServer(ctx, dir, ""); err != nil {
			return false, err
		}
	}
	var reports []*Report
	for _, s := range all {
		_, _ = fmt.Fprintf(cfg.Out, "\n=== %s: %s\n", s.Name, s.Fault)
		one := cfg
		one.Redis, one.Standby, one.Cards, one.Duration, one.Once = s.Redis, s.Standby, s.Cards, s.Lasts, true
		one.Command, one.Trailer = "cluster", s.Key
		report, err := Run(ctx, one)
		if err != nil {
			return broken, fmt.Errorf("%s: %w", s.Name, err)
		}
		reports, broken = append(reports, report), broken || report.Broken()
	}
	w := tabwriter.NewWriter(cfg.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\ntopology\tfault\trequests\taccepted\trefused\tunknown\tlost\trepaired\tlongest gap\tbroken\t")
	for i, s := range all {
		r := reports[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.1f s\t%d\t\n", s.Name, s.Fault,
			r.Orders.Requested, r.Orders.Accepted, r.Orders.Refused, r.Orders.Unknown, r.Lost, r.Repaired, r.Orders.Stopped.Seconds(), len(r.Breaches))
	}
	if err := w.Flush(); err != nil {
		return broken, fmt.Errorf("print table: %w", err)
	}
	return broken, nil
}

// Orders counts the outcomes of the customers' order requests.
type Orders struct {
	Requested, Accepted, Refused, Unknown int
	// Stopped is the longest time between two accepted requests.
	Stopped time.Duration
}

// countOrders counts order requests. Requests answered with QUEUED or UNPAID are accepted.
func countOrders(events []Event) (o Orders) {
	var got []time.Duration
	for _, e := range events {
		if e.Op != OpOrder {
			continue
		}
		o.Requested++
		switch {
		case !e.Definite():
			o.Unknown++
		case e.Code == "" && (e.Status == "QUEUED" || e.Status == "UNPAID"):
			o.Accepted++
			got = append(got, e.End)
		default:
			o.Refused++
		}
	}
	slices.Sort(got)
	for i := 1; i < len(got); i++ {
		o.Stopped = max(o.Stopped, got[i]-got[i-1])
	}
	return o
}
