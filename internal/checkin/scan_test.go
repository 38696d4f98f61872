package checkin

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// runScan runs the scan.
func (p *process) runScan(t *testing.T, dry bool) reconcile.Outcome {
	t.Helper()
	scans := reconcile.New(prometheus.NewRegistry(), nil)
	scans.Add(p.Scans()...)
	o, err := scans.RunOnce(t.Context(), scans.All()[0], reconcile.Options{DryRun: dry, Rate: -1})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wantRepairs checks that a dry run reports want and changes nothing. The next run must
// repair all findings, and a third run must find none.
func (p *process) wantRepairs(t *testing.T, want ...string) {
	t.Helper()
	p.box.Wait()
	before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
	dry := p.runScan(t, true)
	if d := cmp.Diff(want, dry.Lines); d != "" || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("dry run: %+v, lines (-want +got):\n%s", dry, d)
	}
	if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
		t.Errorf("dry run changed data (-before +after):\n%s", d)
	}
	if run := p.runScan(t, false); run.Found != len(want) || run.Repaired != len(want) {
		t.Errorf("run: got %+v, want %d repaired findings", run, len(want))
	}
	if again := p.runScan(t, false); again.Found != 0 {
		t.Errorf("next run: got %+v, want no findings", again)
	}
}

func TestScanRepairsWrongBitmaps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		set := func(user int64, bit int64, value int) {
			t.Helper()
			if err := p.from.Redis.SetBit(t.Context(), p.bitmaps.keys.month(user, 202611), bit, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			name string
			harm func(user int64)
			want []string
		}{
			{"a right one", func(int64) {}, nil},
			{"one that is not in Redis", func(user int64) { p.flush(t, user) }, nil},
			{"one without a mark", func(user int64) { set(user, 0, 0); set(user, 21, 0) }, nil},
			{"a day too many", func(user int64) { set(user, 3, 1) }, []string{"user 1, 2026-11: bitmap has extra days [3]"}},
			{"a day is missing", func(user int64) { set(user, 21, 0) }, []string{"user 1, 2026-11: bitmap lacks days [21]"}},
			{"both", func(user int64) { set(user, 31, 1); set(user, 20, 0) }, []string{"user 1, 2026-11: bitmap lacks days [20] and has extra days [31]"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p.flush(t, 1)
				p.bulkInsert(t, 1, "2026-11-20", "2026-11-23")
				p.bulkInsert(t, 2, "2026-11-23", "2026-11-23")
				p.wantMonth(t, 1, "", &Month{Month: "2026-11", Days: []int{20, 21, 22, 23}, Streak: 4})
				tt.harm(1)
				p.wantRepairs(t, tt.want...)
				p.wantMonth(t, 1, "", &Month{Month: "2026-11", Days: []int{20, 21, 22, 23}, Streak: 4})
			})
		}
	})
}

func TestScanReadsManyPages(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		const users = 3*scanPage + 7
		p := open(t, on, "UTC")
		var drafts []Draft
		for user := range int64(users) {
			drafts = append(drafts, Draft{user + 1, p.today()})
		}
		if _, err := p.BulkInsert(t.Context(), drafts); err != nil {
			t.Fatal(err)
		}
		for _, user := range []int64{1, 100, 101, users} {
			if err := p.from.Redis.SetBit(t.Context(), p.bitmaps.keys.month(user, 202611), 1, 1).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if o := p.runScan(t, false); o.Compared != users || o.Found != 4 || o.Repaired != 4 {
			t.Errorf("got %+v, want %d compared and 4 repaired", o, users)
		}
	})
}

// A bitmap that lags for a moment is not wrong.
func TestScanToleratesLaggingBitmaps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		p.bulkInsert(t, 1, "2026-11-20", "2026-11-20")
		if _, err := p.db.CheckInMonth.Update().SetDays(int64(dayBit(20) | dayBit(23))).Save(t.Context()); err != nil { // committed, but not in Redis yet
			t.Fatal(err)
		}
		if wrong, err := p.mismatches(t.Context(), []bitRef{{1, 202611}}); err != nil || len(wrong) != 1 {
			t.Fatalf("got mismatches %v, %v", wrong, err)
		}
		added := func() {
			if err := p.bitmaps.add(t.Context(), Draft{1, date(t, "2026-11-23")}); err != nil {
				t.Error(err)
			}
		}
		scans := reconcile.New(prometheus.NewRegistry(), nil)
		scan := reconcile.Scan{Name: "page", Description: "one", Run: func(ctx context.Context, r *reconcile.Run) error {
			p.wire.After.Store(&added) // after the first comparison
			return p.comparePage(ctx, r, []bitRef{{1, 202611}})
		}}
		if o, err := scans.RunOnce(t.Context(), scan, reconcile.Options{}); err != nil || o.Compared != 1 || o.Found != 0 {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

func TestKeysRoundTrip(t *testing.T) {
	k := keys{"td"}
	for key, want := range map[string]bool{
		k.month(7, 202611): true, "td:checkin:{7}:000101": true,
		"td:checkin:{7}:2026": false, "td:checkin:{07}:202611": false, "td:checkin:{7}:202611:l": false, "td:visit:{7}:202611": false, "xx:checkin:{7}:202611": false,
	} {
		if p, ok := k.parse(key); ok != want || ok && k.month(p.User, p.Month) != key {
			t.Errorf("%s: got %v, %v", key, p, ok)
		}
	}
}
