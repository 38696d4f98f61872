package observe

import (
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestObserversReturnTheSeriesOfTheirMetric(t *testing.T) {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "seconds"}, []string{"key"})
	by := &observers[int]{series: func(k int) prometheus.Observer { return seconds.WithLabelValues(strconv.Itoa(k)) }}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range 100 {
				if by.of(i%10) != seconds.WithLabelValues(strconv.Itoa(i%10)) {
					t.Errorf("%d: got another series", i%10)
				}
			}
		})
	}
	wait.Wait()
	if n := testutil.CollectAndCount(seconds); n != 10 {
		t.Errorf("got %d series", n)
	}
	for i := range 10 {
		by.of(i)
	}
	if allocated := testing.AllocsPerRun(10, func() { by.of(3) }); allocated > 0 {
		t.Errorf("got %v allocations for a known series", allocated)
	}
}
