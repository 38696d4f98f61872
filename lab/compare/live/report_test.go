package live

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/lab/livebench"
)

func TestPercentilesAreExactToOneIn64(t *testing.T) {
	var h histogram
	if got := h.percentile(99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	h.add(-time.Second) // a clock that went back
	for _, tt := range []struct {
		p    float64
		want time.Duration
	}{{0, 0}, {50, 500 * time.Millisecond}, {99, 990 * time.Millisecond}, {100, time.Second}} {
		if got := h.percentile(tt.p); got < tt.want-tt.want/fine || got > tt.want+tt.want/fine {
			t.Errorf("p%v: %v, want %v", tt.p, got, tt.want)
		}
	}
}

func TestEachTimeIsInTheMiddleOfItsBucket(t *testing.T) {
	last := -1
	for d := time.Duration(1); d < time.Hour; d += max(d/100, 1) {
		i := bucket(d)
		if i < last {
			t.Fatalf("%v is in bucket %d, before %d", d, i, last)
		}
		last = i
		if far := ofBucket(i) - d; far > d/fine || far < -d/fine {
			t.Errorf("%v is taken for %v", d, ofBucket(i))
		}
	}
}

func TestLoadCountsDeliveriesWithinItsTime(t *testing.T) {
	since := time.Unix(1, 0)
	got, err := loadOf(crowdAnswer{Items: 4000, Since: since, Last: since.Add(2 * time.Second), P50: 3, P99: 9}, 40*time.Millisecond, 8*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	want := Load{Rate: 2000, CPU: 10 * time.Microsecond, P50: 3, P99: 9, Crowd: 2 * time.Microsecond}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestAMissedOrRepeatedItemFailsTheRun(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    crowdAnswer
		want string
	}{
		{"one is missed", crowdAnswer{Items: 9, Missed: 1}, "of 9, 1 and 0"},
		{"one came twice", crowdAnswer{Items: 9, Repeated: 1}, "of 9, 0 and 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := loadOf(tt.a, 0, 0); !errors.Is(err, errWrong) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRatiosAreComputedPerRound(t *testing.T) {
	c := figure{oursName: {10, 40, 90}, centrifugeName: {10, 20, 30}, gqlgenName: nil}
	for _, tt := range []struct{ name, cell, ratio string }{
		{oursName, "40 (10–90)", "2.00 (1.00–3.00)"},
		{centrifugeName, "20 (10–30)", "1.00 (1.00–1.00)"},
		{gqlgenName, "-", "-"},
	} {
		if cell, ratio := c.cell(tt.name, "%.0f"), c.ratio(tt.name); cell != tt.cell || ratio != tt.ratio {
			t.Errorf("%s: %s and %s, want %s and %s", tt.name, cell, ratio, tt.cell, tt.ratio)
		}
	}
	if got := spread([]float64{4, 1}, "%.1f"); got != "2.5 (1.0–4.0)" {
		t.Errorf("of two rounds: %s", got)
	}
}

func TestItemsAreParsedFromEachServer(t *testing.T) {
	at := time.Unix(0, 1795460481123456789)
	data, err := item(livebench.Title(42, at), "Tea.")
	if err != nil {
		t.Fatal(err)
	}
	two := `{"push":{"channel":"feed","pub":{"data":` + string(data) + `}}}` + "\n" + `{"push":{"channel":"feed","pub":{"data":` + strings.Replace(string(data), "bench 42", "bench 43", 1) + `}}}`
	rest := []byte(two)
	for _, want := range []int64{42, 43} {
		var n int64
		var published time.Duration
		var ok bool
		if n, published, rest, ok = nextItem(rest); !ok || n != want || int64(published) != at.UnixNano() {
			t.Errorf("item %d of %v, %v; want %d", n, published, ok, want)
		}
	}
	if n, _, _, ok := nextItem(rest); ok {
		t.Errorf("item %d too", n)
	}
	if size := len(data); size < 300 || size > 500 {
		t.Errorf("an item has %d bytes", size)
	}
}

func TestConnectionStatesAreReadFromTheKernel(t *testing.T) {
	table := []byte(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00001000:00000000 01:00000014 00000000     0        0 12 2 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000200 00:00000000 00000000     0        0 13 1 0 20 4 30 10 -1
   3: 0100007F:1F90 0100007F:C351 04 00002000:00000000 01:00000014 00000000     0        0 0 2 0 20 4 30 10 -1
`)
	for _, tt := range []struct {
		name   string
		client int
		state  string
		queue  int64
	}{
		{"open", 50000, established, 4096},
		{"closed, not all is sent", 50001, "04", 8192},
		{"unknown", 50002, "", 0},
	} {
		if state, queue := connection(table, 8080, tt.client); state != tt.state || queue != tt.queue {
			t.Errorf("%s: %q, %d; want %q, %d", tt.name, state, queue, tt.state, tt.queue)
		}
	}
}

// Without Tandian, no process commits notes.
func TestTableCommittedNeedsTandian(t *testing.T) {
	var out, progress strings.Builder
	r := &report{lab: &lab{Plan: Plan{Subscribers: []int{20}, Progress: &progress}}, out: &out}
	if err := r.committed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.String() != "" || len(r.goals) > 0 || !strings.Contains(progress.String(), "table committed skipped") {
		t.Errorf("got output %q, goals %v, progress %q", &out, r.goals, &progress)
	}
}

func TestGoalsAreJudgedOnlyWithTandian(t *testing.T) {
	r := &report{}
	alone := figure{centrifugeName: {1, 2}}
	r.atLeast("rate", middle(alone.ratios(oursName, centrifugeName)), 1)
	r.atLeast("rate", 1.25, 1.3)
	r.atMost("CPU", 0.25, 0.25)
	want := [][]string{{"rate", "1.25", "≥ 1.3", "NO"}, {"CPU", "0.25", "≤ 0.25", "yes"}}
	if d := cmp.Diff(want, r.goals); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
