package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

// RunScan runs the scan of a name once.
func RunScan(t *testing.T, scans []reconcile.Scan, name string, dry bool) reconcile.Outcome {
	t.Helper()
	all := reconcile.New(prometheus.NewRegistry(), nil)
	all.Add(scans...)
	found, err := all.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := all.RunOnce(t.Context(), found[0], reconcile.Options{DryRun: dry})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// CheckRepair checks that a dry run of a scan finds want differences and changes nothing. The next
// run must repair all of them, and a third run must find none.
func (p Process) CheckRepair(t *testing.T, box *outbox.Box, scans []reconcile.Scan, name string, want int) {
	t.Helper()
	box.Wait()
	before := Snapshot(t, p.SQL.DB, p.Redis)
	if dry := RunScan(t, scans, name, true); dry.Found != want || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("dry run: got %+v, want %d findings", dry, want)
	}
	if d := cmp.Diff(before, Snapshot(t, p.SQL.DB, p.Redis)); d != "" {
		t.Errorf("the dry run changed data (-before +after):\n%s", d)
	}
	if run := RunScan(t, scans, name, false); run.Found != want || run.Repaired != want {
		t.Errorf("run: got %+v, want %d findings, all repaired", run, want)
	}
	if again := RunScan(t, scans, name, false); again.Found != 0 {
		t.Errorf("second run: got %+v, want no findings", again)
	}
}
