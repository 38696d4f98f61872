package lock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) {
	Hush()
	goleak.VerifyTestMain(m)
}

// servers returns the given number of Redis servers, and a database.
func servers(t *testing.T, nodes int) *Servers {
	t.Helper()
	return open(t, nodes, testkit.Postgres(t))
}

func open(t *testing.T, nodes int, dsn string) *Servers {
	t.Helper()
	var urls []string
	for range nodes {
		urls = append(urls, testkit.Redis(t))
	}
	s, err := Open(t.Context(), urls, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil { // the test's own context has ended
			t.Error(err)
		}
	})
	return s
}

func variant(t *testing.T, name string) Variant {
	t.Helper()
	i := slices.IndexFunc(Variants(), func(v Variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("unknown variant %q", name)
	}
	return Variants()[i]
}

// comesOut runs one anomaly on one variant.
func comesOut(t *testing.T, s *Servers, id, name string, want Outcome) {
	t.Helper()
	i := slices.IndexFunc(Anomalies(), func(a Anomaly) bool { return a.ID == id })
	if i < 0 {
		t.Fatalf("unknown anomaly %q", id)
	}
	got, err := s.Try(t.Context(), Anomalies()[i], variant(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if got.Outcome != want {
		t.Errorf("%s, %s: %v %s, want %v", name, id, got.Outcome, got.Why, want)
	}
}

const right = "SET NX PX, script"

func TestSetnxThenExpireLeavesADeadLock(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S1", "SETNX, then EXPIRE", DeadLock)
	comesOut(t, s, "S1", right, Passes)
}

func TestDelWithoutOwnerCheckFreesTheNextLock(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S2", "SET NX PX, DEL", TwoHolders)
	comesOut(t, s, "S2", "SET NX PX, GET and DEL", Passes)
	comesOut(t, s, "S2", right, Passes)
}

func TestLeaseMayExpireBetweenGetAndDel(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S2b", "SET NX PX, GET and DEL", TwoHolders)
	comesOut(t, s, "S2b", right, None)
}

func TestTimestampsNeedOneClock(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S3", "timestamp, GETSET", TwoHolders)
	comesOut(t, s, "S3", "timestamp, DEL and SETNX", TwoHolders)
	comesOut(t, s, "S3", right, Passes)
}

func TestDeletingAnExpiredTimestampAllowsTwoHolders(t *testing.T) {
	t.Parallel()
	comesOut(t, servers(t, 1), "S3b", "timestamp, DEL and SETNX", TwoHolders)
}

func TestSecondGetsetPreventsTheWinnersUnlock(t *testing.T) {
	t.Parallel()
	comesOut(t, servers(t, 1), "S3b", "timestamp, GETSET", DeadLock)
}

func TestMutexExcludesWithinOneServerOnly(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S4", "mutex of the process", TwoHolders)
	comesOut(t, s, "S4", right, Passes)
}

func TestUnlockBeforeCommitExcludesNoOne(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S5", "unlocked before the commit", TwoHolders)
	comesOut(t, s, "S5", right, Passes)
}

func TestLeaseDoesNotStopALateWriter(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S7", right, TwoHolders)
	comesOut(t, s, "S7", "row of a table", TwoHolders)
	comesOut(t, s, "S7", "SELECT FOR UPDATE", Passes)
	comesOut(t, s, "S7", "advisory, of the transaction", Passes)
}

func TestLeaseWithoutRenewalExpiresDuringWork(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	comesOut(t, s, "S7b", right, TwoHolders)
	comesOut(t, s, "S7b", "redsync, one node", TwoHolders)
	comesOut(t, s, "S7b", "Tandian, one node", Passes)
	comesOut(t, s, "S7b", "Tandian on Postgres", Passes)
}

func TestUniqueIndexRefusesASecondHolder(t *testing.T) {
	t.Parallel()
	s := servers(t, 1)
	for _, id := range []string{"S7", "S8"} {
		comesOut(t, s, id, "Tandian, one node", TwoHolders)
		comesOut(t, s, id, "Tandian, one node, unique index", Passes)
	}
}

func TestOvertakenRegisteredHolderIsRefused(t *testing.T) {
	t.Parallel()
	s, ctx := servers(t, 1), t.Context()
	st, err := s.stage(ctx, variant(t, "SET NX PX, fenced"), life, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.close(ctx); err != nil {
			t.Error(err)
		}
	}()
	h, err := st.p[0].Try(ctx, st.name)
	if err := errors.Join(err, st.lapse(ctx), st.p[1].order(ctx, st.name)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.p[0].begin(ctx, h, st.name); !errors.Is(err, errFenced) {
		t.Errorf("its work begins: %v, want errFenced", err)
	}
}

func TestLostRedisDataAllowsASecondHolder(t *testing.T) {
	t.Parallel()
	s := servers(t, 3)
	comesOut(t, s, "S8", "redsync, one node", TwoHolders)
	comesOut(t, s, "S8", "redsync, three nodes", Passes)
	comesOut(t, s, "S8b", "redsync, three nodes", TwoHolders)
}

// TestVerdictsMatchExpectations names the faults of each scheme, and the scenarios that do not
// arise: additional ones are an error of the suite, and so are missing ones.
func TestVerdictsMatchExpectations(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, two, dead, untold, none string }{
		{name: "SETNX, then EXPIRE", two: "S7 S7b S8", dead: "S1", untold: "S9", none: "S2b S8b"},
		{name: "SET NX PX, DEL", two: "S2 S7 S7b S8", untold: "S9", none: "S2b S8b"},
		{name: "SET NX PX, GET and DEL", two: "S2b S7 S7b S8", untold: "S9", none: "S8b"},
		{name: right, two: "S7 S7b S8", untold: "S9", none: "S2b S8b"},
		{name: "SET NX PX, fenced", untold: "S9", none: "S2b S8b"},
		{name: "timestamp, DEL and SETNX", two: "S3 S3b S7 S7b S8", untold: "S9", none: "S2b S8b"},
		{name: "timestamp, GETSET", two: "S3 S7 S7b S8", dead: "S3b", untold: "S9", none: "S2b S8b"},
		{name: "mutex of the process", two: "S4", none: "S1 S2 S2b S3b S6 S7b S8 S8b S9"},
		{name: "unlocked before the commit", two: "S5 S7 S7b S8", untold: "S9", none: "S2b S8b"},
		{name: "redsync, one node", two: "S7 S7b S8", untold: "S9", none: "S2b S8b"},
		{name: "redsync, three nodes", two: "S7 S7b S8b", untold: "S9", none: "S2b"},
		{name: "row of a table", two: "S7 S7b", untold: "S9", none: "S1 S2b S8b"},
		{name: "SELECT FOR UPDATE", none: "S1 S2 S2b S3b S7b S8b S9"},
		{name: "advisory, of the transaction", none: "S1 S2 S2b S3b S7b S8b S9"},
		{name: "Tandian, one node", two: "S7 S8", none: "S2b S8b"},
		{name: "Tandian, three nodes", two: "S7 S8b", none: "S2b"},
		{name: "Tandian, one node, unique index", none: "S2b S8b"},
		{name: "Tandian on Postgres", two: "S7 S8", none: "S1 S2b S8b"},
	}
	var names []string
	for _, tt := range tests {
		names = append(names, tt.name)
	}
	var all []string
	for _, v := range Variants() {
		all = append(all, v.Name)
	}
	if diff := cmp.Diff(all, names); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	s := servers(t, 3)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(map[Outcome]string)
			for i, verdict := range verdicts(t, s, variant(t, tt.name)) {
				if verdict.Why != "" {
					t.Logf("%s: %s", Anomalies()[i].ID, verdict.Why)
				}
				if verdict.Outcome != Passes {
					got[verdict.Outcome] = strings.TrimSpace(got[verdict.Outcome] + " " + Anomalies()[i].ID)
				}
			}
			want := map[Outcome]string{TwoHolders: tt.two, DeadLock: tt.dead, NotNotified: tt.untold, None: tt.none}
			for o, ids := range want {
				if ids == "" {
					delete(want, o)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

// verdicts runs all anomalies in parallel: they mostly wait.
func verdicts(t *testing.T, s *Servers, v Variant) []Verdict {
	t.Helper()
	all := make([]Verdict, len(Anomalies()))
	failed := make([]error, len(all))
	var running sync.WaitGroup
	for i, a := range Anomalies() {
		running.Go(func() { all[i], failed[i] = s.Try(t.Context(), a, v) })
	}
	running.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestScenariosNeedADatabaseOnlyIfTheLockDoes(t *testing.T) {
	t.Parallel()
	s := open(t, 1, "")
	comesOut(t, s, "S2", "SET NX PX, DEL", TwoHolders)
	comesOut(t, s, "S2", right, Passes)
	comesOut(t, s, "S5", "unlocked before the commit", TwoHolders)
	comesOut(t, s, "S5", right, Passes)
}

func TestLedgerCountsCommittedAndOwnOrders(t *testing.T) {
	t.Parallel()
	ledgers := map[string]Ledger{"in memory": newMemory(), "in Postgres": servers(t, 0).ledger()}
	for name, l := range ledgers {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			counts := func(w Work, want int) {
				t.Helper()
				if got, err := w.Bought(ctx); err != nil || got != want {
					t.Errorf("%d orders, %v, want %d", got, err, want)
				}
			}
			begin := func() Work {
				t.Helper()
				w, err := l.Begin(ctx, user)
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(l.Open(ctx, user))
			writes, reads := begin(), begin()
			must(writes.Buy(ctx))
			counts(writes, 1)
			counts(reads, 0)
			must(writes.Commit())
			must(writes.Rollback())
			counts(reads, 1)
			must(reads.Buy(ctx))
			must(reads.Rollback())
			if got, err := l.Orders(ctx, user); err != nil || got != 1 {
				t.Errorf("%d orders, %v, want 1", got, err)
			}
		})
	}
}

func TestNotifiedWaitersSendNoCommands(t *testing.T) {
	t.Parallel()
	s := servers(t, 3)
	var vs []Variant
	polls := map[string]bool{right: true, "redsync, one node": true, "row of a table": true, "SELECT FOR UPDATE": false, "advisory, of the transaction": false}
	for _, v := range Variants() {
		if strings.HasPrefix(v.Name, "Tandian") && !v.Twin {
			polls[v.Name] = false
		}
		if _, ok := polls[v.Name]; ok {
			vs = append(vs, v)
		}
	}
	got, err := s.Handover(t.Context(), vs, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range got {
		t.Logf("%+v", h)
		if (h.Waiting > 0) != polls[h.Name] {
			t.Errorf("%s: %d requests in %v of waiting", h.Name, h.Waiting, waitCounted)
		}
		if h.P50 <= 0 || h.P99 < h.P50 || h.Max < h.P99 || h.Cost <= 0 || h.Sent < 1 {
			t.Errorf("%s: nothing was measured: %+v", h.Name, h)
		}
	}
	if len(got) != len(polls) {
		t.Errorf("%d of %d were measured", len(got), len(polls))
	}
}

func TestReportPrintsTablesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := testkit.Postgres(t)
	s := open(t, 1, dsn)
	for _, tt := range []struct{ name, dsn, scheme, want string }{
		{"a lock in Redis", dsn, right, right + "  passes"},
		{"a lock in the database", dsn, "row of", "row of a table  –"},
		{"no database", "", "row of", "Omitted without a database or three Redis servers: row of a table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := Report(t.Context(), Plan{Redis: s.urls, Database: tt.dsn, Rounds: 1, Scheme: tt.scheme}, &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tt.want) || !strings.Contains(out.String(), "Handing over") {
				t.Errorf("it lacks %q, or a table:\n%s", tt.want, &out)
			}
		})
	}
	keys, err := s.nodes[0].DBSize(t.Context()).Result()
	if err != nil || keys > 0 {
		t.Errorf("%d keys are left, %v", keys, err)
	}
	var schemas int
	err = s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'bench%' AND nspname <> $1`, s.random).Scan(&schemas)
	if err != nil || schemas > 0 {
		t.Errorf("%d schemas are left, %v", schemas, err)
	}
}

func TestEachVariantHasANameOfItsOwn(t *testing.T) {
	names := make(map[string]bool)
	for _, v := range Variants() {
		if names[v.Name] {
			t.Errorf("two variants are named %q", v.Name)
		}
		names[v.Name] = true
	}
}
