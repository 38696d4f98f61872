// Command dashboard generates the Grafana dashboard deploy/grafana/dashboards/tandian.json from
// rows.go. `make dashboard` runs it, and a test checks that the committed output is fresh.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboard FILE")
		os.Exit(2)
	}
	text, err := render(rows())
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644) //nolint:gosec // Grafana runs as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// A row is a titled group of panels, three per line.
type row struct {
	title  string
	panels []panel
}

// A panel shows queries over time.
type panel struct {
	title, about string
	unit         string // of Grafana: s, bytes, percentunit, reqps, short …
	queries      []query
	warn, bad    float64 // yellow and red thresholds; 0 means none
	below        bool    // whether the thresholds are lower bounds
	max          float64 // maximum of the axis; 0 means automatic
}

// A query is an expression with the legend of its series.
type query struct{ expr, legend string }

const (
	columns, width, height = 24, 8, 7

	// schema is the version of the dashboard format.
	schema = 39
	source = "tandian-prometheus" // uid in deploy/grafana/provisioning
)

type object = map[string]any

// render returns the dashboard as JSON.
func render(rows []row) ([]byte, error) {
	var panels []object
	id, y := 0, 0
	place := func(w, h, x int) (int, object) {
		id++
		return id, object{"x": x, "y": y, "w": w, "h": h}
	}
	for _, r := range rows {
		n, at := place(columns, 1, 0)
		panels = append(panels, object{"id": n, "type": "row", "title": r.title, "collapsed": false, "gridPos": at, "panels": []object{}})
		y++
		for i, p := range r.panels {
			if i > 0 && i%(columns/width) == 0 {
				y += height
			}
			n, at := place(width, height, i%(columns/width)*width)
			panels = append(panels, p.render(n, at))
		}
		y += height
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(object{
		"uid": "tandian", "title": "Tandian", "tags": []string{"tandian"}, "schemaVersion": schema, "version": 1, "id": nil,
		"editable": false, "graphTooltip": 1, "timezone": "browser", "refresh": "30s",
		"time":       object{"from": "now-1h", "to": "now"},
		"timepicker": object{}, "annotations": object{"list": []object{alerts()}}, "links": []object{},
		"templating": object{"list": variables()},
		"panels":     panels,
	})
	if err != nil {
		return nil, fmt.Errorf("encode dashboard: %w", err)
	}
	return out.Bytes(), nil
}

// datasource returns a reference to the dashboard variable of this name.
func datasource() object { return object{"type": "prometheus", "uid": "${datasource}"} }

// alerts returns the annotation that marks firing alerts on every panel.
func alerts() object {
	return object{
		"name": "Alerts", "enable": true, "iconColor": "red", "datasource": datasource(),
		"expr": `ALERTS{alertstate="firing"}`, "titleFormat": "{{alertname}}", "step": "60s",
	}
}

func variables() []object {
	return []object{
		{
			"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0,
			"current": object{"text": "Prometheus", "value": source},
		},
		{
			"name": "instance", "label": "Server", "type": "query", "datasource": datasource(), "hide": 0,
			"query":   object{"query": `label_values(up{job="tandian"}, instance)`, "refId": "instance"},
			"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		},
	}
}

func (p panel) render(id int, at object) object {
	targets := make([]object, len(p.queries))
	for i, q := range p.queries {
		targets[i] = object{
			"refId": string(rune('A' + i)), "datasource": datasource(), "expr": q.expr, "legendFormat": q.legend, "range": true,
		}
	}
	defaults := object{
		"unit": p.unit, "min": 0,
		"custom":     object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "thresholdsStyle": object{"mode": p.mode()}},
		"thresholds": object{"mode": "absolute", "steps": p.steps()},
	}
	if p.max > 0 {
		defaults["max"] = p.max
	}
	return object{
		"id": id, "type": "timeseries", "title": p.title, "description": p.about, "gridPos": at, "datasource": datasource(), "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
		"options": object{
			"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": object{"mode": "multi", "sort": "desc"},
		},
	}
}

// mode returns the display mode of the thresholds.
func (p panel) mode() string {
	if p.warn == 0 && p.bad == 0 {
		return "off"
	}
	return "dashed"
}

// steps returns the colours in ascending order of their thresholds. The first has none.
func (p panel) steps() []object {
	step := func(colour string, from any) object { return object{"color": colour, "value": from} }
	switch {
	case p.below && p.mode() != "off":
		return []object{step("red", nil), step("yellow", p.bad), step("green", p.warn)}
	case p.warn > 0 && p.bad > 0:
		return []object{step("green", nil), step("yellow", p.warn), step("red", p.bad)}
	case p.bad > 0:
		return []object{step("green", nil), step("red", p.bad)}
	case p.warn > 0:
		return []object{step("green", nil), step("yellow", p.warn)}
	}
	return []object{step("green", nil)}
}
