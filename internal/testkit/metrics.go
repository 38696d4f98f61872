package testkit

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// MetricSum returns the sum of the counters, gauges and observation counts that have
// this name and these labels, or -1 if there is none.
func MetricSum(t *testing.T, reg prometheus.Gatherer, name string, labels map[string]string) float64 {
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
