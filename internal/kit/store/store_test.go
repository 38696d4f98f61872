package store

import (
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	SilenceRedisLog()
	if dir := os.Getenv("STORE_TEST_HOLD"); dir != "" {
		hold(dir)
	}
	// A pool that could not dial tries again each second, and sees only then that
	// it was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// value is the sum of the counters, gauges and numbers of observations that
// have this name and these labels; -1 if there is none.
func value(t *testing.T, reg prometheus.Gatherer, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum, known := 0.0, false
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := map[string]string{}
			for _, l := range m.GetLabel() {
				has[l.GetName()] = l.GetValue()
			}
			fits := f.GetName() == name
			for k, v := range labels {
				fits = fits && has[k] == v
			}
			if fits {
				known = true
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	if !known {
		return -1
	}
	return sum
}
