package app_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

var update = flag.Bool("update", false, "rewrite docs/reference")

// docs/reference lists the metrics of a server on the embedded stores and on real ones, whose log
// reader is on.
func TestReferencePageOfMetricsIsFresh(t *testing.T) {
	embedded, stores := apptest.Embedded(t), apptest.Real(t)
	stores.Config.LogReader = "auto"
	rows := map[string]string{}
	for _, stack := range []*apptest.Stack{embedded, stores} {
		metrics, ok := stack.Start(t).Metrics().(prometheus.Collector)
		if !ok {
			t.Fatal("the registry does not describe its metrics")
		}
		maps.Copy(rows, described(t, metrics))
	}
	pages := map[string]string{"metrics.md": metricsIntro, "metrics-features.md": featureMetricsIntro}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		noun, _, _ := strings.Cut(strings.TrimPrefix(name, "tandian_"), "_")
		page := "metrics.md"
		if slices.Contains(featureNouns, noun) {
			page = "metrics-features.md"
		}
		pages[page] += rows[name]
	}
	for name, want := range pages {
		path := "../../docs/reference/" + name
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		page, err := os.ReadFile(path) //nolint:gosec // a page of the repository
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(page)); d != "" {
			t.Errorf("%s differs from the program (-program +page)\n%s", name, d)
		}
	}
}

const metricsIntro = `# Metrics

A server exports these at ` + "`/metrics`" + `, each with the prefix ` + "`tandian_`" + `. [Metrics of features](metrics-features.md) has those of accounts, sales, feeds
and other nouns. A server also exports ` + "`tandian_go_sql_*`" + ` (the pool of database connections) and the metrics of the Go runtime and of the process.
A value is of one process, if its row names no other scope. Times are in seconds and sizes in bytes. A name that ends in ` + "`_total`" + ` is a counter.
` + "`door`" + ` in a name is the GraphQL server. The label ` + "`policy`" + ` names a cache, ` + "`role`" + ` is ` + "`state` or `cache`" + `, and ` + "`doing`" + ` names the failed
operation. [The runbook](../operate/runbook.md) describes the alerts, and ` + "`deploy/grafana`" + ` has a dashboard.

The test of this page generates it: ` + "`scripts/servers.sh run go test ./internal/app -run ReferencePage -update`." + `

| metric {labels} | value |
|---|---|
`

const featureMetricsIntro = `# Metrics of features

[Metrics](metrics.md) explains prefix, units and labels, and has the metrics of servers and stores. Its test generates this page too.

| metric {labels} | value |
|---|---|
`

// featureNouns begin the names of metrics of features.
var featureNouns = []string{
	"account", "deleted", "feed", "live", "login", "logins", "media", "order", "sale", "session", "shop", "visit", "visits", "voucher",
}

// described returns the rows of the metrics of Tandian, by name.
func described(t *testing.T, metrics prometheus.Collector) map[string]string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		metrics.Describe(descriptions)
		close(descriptions)
	}()
	parts := regexp.MustCompile(`^Desc{fqName: "(tandian_\w+)", help: "(.*)", constLabels: {(.*)}, variableLabels: {(.*)}}$`)
	rows := map[string]string{}
	for d := range descriptions {
		found := parts.FindStringSubmatch(d.String())
		if found == nil {
			continue // of a library
		}
		labels := regexp.MustCompile(`\w+`).FindAllString(regexp.MustCompile(`="[^"]*"`).ReplaceAllString(found[3], " ")+" "+found[4], -1)
		if strings.HasPrefix(found[1], "tandian_go_sql_") {
			continue // the page describes them together
		}
		// The page describes one process.
		help := strings.NewReplacer(`\"`, `"`, "|", "\\|", " in this process", "", " by this process", "", " that this process", "").Replace(found[2])
		list := ""
		if len(labels) > 0 {
			list = " {" + strings.Join(labels, ", ") + "}"
		}
		rows[found[1]] = fmt.Sprintf("| %s%s | %s |\n", strings.TrimPrefix(found[1], "tandian_"), list, strings.TrimSuffix(help, "."))
	}
	if len(rows) < 50 {
		t.Errorf("got %d metrics", len(rows))
	}
	return rows
}

// docs/reference/events.md names every subscription, outbox topic and scheduled job.
func TestReferencePageOfEventsIsComplete(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	text, err := os.ReadFile("../../docs/reference/events.md")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Schema struct {
			SubscriptionType struct{ Fields []struct{ Name string } }
		} `json:"__schema"`
	}
	s.Must(t, `{ __schema { subscriptionType { fields { name } } } }`, nil, &schema)
	var subscriptions []string
	for _, f := range schema.Schema.SubscriptionType.Fields {
		subscriptions = append(subscriptions, f.Name)
	}
	slices.Sort(subscriptions)
	for title, want := range map[string][]string{
		"Subscriptions":  subscriptions,
		"Outbox topics":  labels(t, s.Metrics(), "tandian_outbox_waiting", "topic"),
		"Scheduled jobs": labels(t, s.Metrics(), "tandian_schedule_runs_total", "job"),
	} {
		_, section, _ := strings.Cut(string(text), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var got []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*?)[|:]").FindAllStringSubmatch(section, -1) {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				got = append(got, name[1])
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-server +page)\n%s", title, d)
		}
	}
}

// labels returns the values of a label of a metric, sorted.
func labels(t *testing.T, metrics prometheus.Gatherer, name, label string) []string {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					values = append(values, l.GetValue())
				}
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
