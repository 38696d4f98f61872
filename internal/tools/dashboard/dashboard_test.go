package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func deployed(path string) string { return filepath.Join("..", "..", "..", "deploy", "grafana", path) }

func TestDashboardIsFresh(t *testing.T) {
	want, err := render(rows())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(deployed("dashboards/tandian.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("deploy/grafana/dashboards/tandian.json is stale: run make dashboard")
	}
}

// decoded holds the checked fields of a dashboard as Grafana decodes it.
type decoded struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Current    struct{ Value any }
		}
	}
	Panels []decodedPanel
}

type decodedPanel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ Type, UID string }
	Targets                  []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Mode  string
				Steps []struct {
					Color string
					Value *float64
				}
			}
		}
	}
}

// units returns the Grafana units in use. Grafana shows an unknown unit as a suffix.
func units() []string {
	return []string{"s", "bytes", "Bps", "percentunit", "reqps", "ops", "short"}
}

// problems returns mistakes that Grafana would reject or render wrongly.
func (d decoded) problems(source string) (all []string) {
	problem := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 {
		problem("uid %q, title %q, schema version %d", d.UID, d.Title, d.SchemaVersion)
	}
	var named []any
	for _, v := range d.Templating.List {
		if v.Name == "datasource" && v.Type == "datasource" {
			named = append(named, v.Current.Value)
		}
	}
	if len(named) != 1 || named[0] != source {
		problem("variable datasource is %v, provisioned is %s", named, source)
	}
	seen := map[int]bool{}
	for i, p := range d.Panels {
		if seen[p.ID] || p.ID <= 0 {
			problem("%s: id %d is invalid or duplicate", p.Title, p.ID)
		}
		seen[p.ID] = true
		at := p.GridPos
		if at.X < 0 || at.Y < 0 || at.W <= 0 || at.H <= 0 || at.X+at.W > columns {
			problem("%s has invalid position %+v", p.Title, at)
		}
		for _, q := range d.Panels[:i] {
			if o := q.GridPos; at.X < o.X+o.W && o.X < at.X+at.W && at.Y < o.Y+o.H && o.Y < at.Y+at.H {
				problem("%s overlaps %s", p.Title, q.Title)
			}
		}
		all = append(all, p.problems()...)
	}
	return all
}

func (p decodedPanel) problems() (all []string) {
	problem := func(format string, args ...any) { all = append(all, p.Title+": "+fmt.Sprintf(format, args...)) }
	if p.Type == "row" {
		if p.Title == "" {
			problem("row without a title")
		}
		return all
	}
	if p.Type != "timeseries" || p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
		problem("type %q, description %q, %d targets", p.Type, p.Description, len(p.Targets))
	}
	if unit := p.FieldConfig.Defaults.Unit; !slices.Contains(units(), unit) {
		problem("unit %q", unit)
	}
	steps := p.FieldConfig.Defaults.Thresholds.Steps
	for i, s := range steps {
		if (s.Value == nil) != (i == 0) || i > 1 && *s.Value <= *steps[i-1].Value {
			problem("threshold %d does not ascend", i)
		}
	}
	if len(steps) == 0 {
		problem("no threshold")
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if q.RefID == "" || refs[q.RefID] || q.Expr == "" || q.LegendFormat == "" {
			problem("refId %q, expr %q, legend %q", q.RefID, q.Expr, q.LegendFormat)
		}
		refs[q.RefID] = true
		if q.Datasource.Type != "prometheus" || q.Datasource.UID != "${datasource}" || p.Datasource != q.Datasource {
			problem("data source %+v", q.Datasource)
		}
	}
	return all
}

// provisionedSource returns the uid of the only provisioned data source.
func provisionedSource(t *testing.T) string {
	t.Helper()
	var file struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			UID, Type, URL string
			JSONData       map[string]string `yaml:"jsonData"`
		}
	}
	readYAML(t, "provisioning/datasources/prometheus.yml", &file)
	if file.APIVersion != 1 || len(file.Datasources) != 1 || file.Datasources[0].Type != "prometheus" || file.Datasources[0].URL == "" {
		t.Fatalf("got provisioned data sources %+v, want one of Prometheus", file)
	}
	var prometheus struct {
		Global struct {
			Every string `yaml:"scrape_interval"`
		}
	}
	readYAML(t, "../prometheus/prometheus.yml", &prometheus)
	if every := file.Datasources[0].JSONData["timeInterval"]; every != prometheus.Global.Every {
		t.Errorf("got scrape interval %s in Grafana, want %s as in Prometheus", every, prometheus.Global.Every)
	}
	return file.Datasources[0].UID
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(deployed(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readDashboard(t *testing.T) (d decoded) {
	t.Helper()
	text, err := os.ReadFile(deployed("dashboards/tandian.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboardIsValid(t *testing.T) {
	d := readDashboard(t)
	for _, problem := range d.problems(provisionedSource(t)) {
		t.Error(problem)
	}
	var titles []string
	for _, p := range d.Panels {
		if p.Type == "row" {
			titles = append(titles, p.Title)
		}
	}
	want := []string{"HTTP and GraphQL", "Caches", "Redis", "Flash sales", "Feed and subscriptions", "Background work", "Postgres", "Process"}
	if !slices.Equal(titles, want) {
		t.Errorf("got rows %q, want %q", titles, want)
	}
	var provider struct {
		Providers []struct {
			Type    string
			Options struct{ Path string }
		}
	}
	readYAML(t, "provisioning/dashboards/tandian.yml", &provider)
	if len(provider.Providers) != 1 || provider.Providers[0].Type != "file" || provider.Providers[0].Options.Path != "/var/lib/grafana/dashboards" {
		t.Errorf("got provisioned dashboards %+v", provider)
	}
}

func TestInvalidDashboardsAreReported(t *testing.T) {
	const source = "tandian-prometheus"
	tests := []struct {
		name, want string
		corrupt    func(*decoded)
	}{
		{"duplicate id", "duplicate", func(d *decoded) { d.Panels[2].ID = d.Panels[1].ID }},
		{"overlapping panels", "overlaps", func(d *decoded) { d.Panels[2].GridPos = d.Panels[1].GridPos }},
		{"panel past the edge", "invalid position", func(d *decoded) { d.Panels[3].GridPos.X++ }},
		{"duplicate refId", "refId", func(d *decoded) { d.Panels[3].Targets = append(d.Panels[3].Targets, d.Panels[3].Targets[0]) }},
		{"no query", `expr ""`, func(d *decoded) { d.Panels[1].Targets[0].Expr = "" }},
		{"wrong data source", "data source", func(d *decoded) { d.Panels[1].Targets[0].Datasource.UID = "else" }},
		{"unprovisioned default", "provisioned", func(d *decoded) { d.Templating.List[0].Current.Value = "else" }},
		{"unknown unit", "unit", func(d *decoded) { d.Panels[1].FieldConfig.Defaults.Unit = "seconds" }},
		{"no description", "description", func(d *decoded) { d.Panels[1].Description = "" }},
		{"old schema version", "schema", func(d *decoded) { d.SchemaVersion = 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := readDashboard(t)
			tt.corrupt(&d)
			if all := strings.Join(d.problems(source), "\n"); !strings.Contains(all, tt.want) {
				t.Errorf("got problems %q, want %q", all, tt.want)
			}
		})
	}
}
