package cdc

import (
	"context"
	"slices"
	"testing"
	"time"
)

// BenchmarkLatency measures the time until a change is delivered: after its statement
// returned, and after it was sent.
//
//	scripts/servers.sh run go test -run '^$' -bench Latency -benchtime 200x ./internal/kit/cdc
func BenchmarkLatency(b *testing.B) {
	at, rec := newDatabase(b), make(chan time.Time, 1)
	at.runActive(b, Options{URL: at.dsn, Tables: []Table{{
		Name: "shops", OnChange: func(context.Context, []string) error { rec <- time.Now(); return nil },
	}}})
	at.exec(b, `INSERT INTO shops (id) VALUES (1)`)
	<-rec
	var sinceSent, sinceCommit []time.Duration
	for b.Loop() {
		sent := time.Now()
		at.exec(b, `UPDATE shops SET name = 'x'`)
		committed := time.Now()
		result := <-rec
		sinceSent = append(sinceSent, result.Sub(sent))
		sinceCommit = append(sinceCommit, result.Sub(committed))
	}
	for name, list := range map[string][]time.Duration{"sent": sinceSent, "commit": sinceCommit} {
		slices.Sort(list)
		for _, q := range []struct {
			name string
			at   int
		}{{"p50", len(list) / 2}, {"p99", len(list) * 99 / 100}} {
			b.ReportMetric(float64(list[q.at].Microseconds())/1000, "ms-since-"+name+"-"+q.name)
		}
	}
}
