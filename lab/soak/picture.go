package soak

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Sizes of the picture, in pixels: plots below each other over the time of the run.
const (
	wide, high          = 980, 190 // of a plot, with its title and ground line
	plotLeft, plotRight = 80, 800
	plotTop, plotFoot   = 34, 160
)

const pictureStyle = `<style>
text { font: 12px sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: bold }
.ground { fill: #ffffff }
.grid { stroke: #d0d7de }
.fault { fill: #cf222e; opacity: .18 }
.l0 { stroke: #0969da } .l1 { stroke: #bc4c00 } .l2 { stroke: #8250df } .l3 { stroke: #57606a }
.line { fill: none; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .grid { stroke: #30363d }
  .l0 { stroke: #58a6ff } .l1 { stroke: #f0883e } .l2 { stroke: #bc8cff } .l3 { stroke: #8b949e }
}
</style>
`

// A line of a plot has a value for each time; NaN is a gap.
type line struct {
	name   string
	at     []time.Duration
	values []float64
}

type plot struct {
	title string
	log   bool // the axis of values is logarithmic
	least float64
	lines []line
}

// picture draws the run as a self-contained SVG.
func (c *course) picture() []byte {
	plots := c.plots()
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Two servers under a mixed load\">\n%s", wide, high*len(plots)+10, pictureStyle)
	fmt.Fprintf(&b, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", wide, high*len(plots)+10)
	for i, p := range plots {
		fmt.Fprintf(&b, "<g transform=\"translate(0 %d)\">\n", i*high)
		c.draw(&b, p)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// plots returns the plots of the picture.
func (c *course) plots() []plot {
	seconds := int(c.o.Dur/time.Second) + 1
	took, failed := make([][]time.Duration, seconds), make([]float64, seconds)
	for _, s := range c.samples {
		n := int(s.at / time.Second)
		switch {
		case n < 0 || n >= seconds:
		case s.failed != "":
			failed[n]++
		default:
			took[n] = append(took[n], s.took)
		}
	}
	at := make([]time.Duration, seconds)
	p50, p99, most, works := make([]float64, seconds), make([]float64, seconds), make([]float64, seconds), make([]float64, seconds)
	for i := range seconds {
		slices.Sort(took[i])
		at[i] = time.Duration(i) * time.Second
		works[i] = float64(len(took[i])) + failed[i]
		p50[i], p99[i], most[i] = math.NaN(), math.NaN(), math.NaN()
		if len(took[i]) > 0 {
			p50[i], p99[i], most[i] = millis(percentile(took[i], 50)), millis(percentile(took[i], 99)), millis(percentile(took[i], 100))
		}
	}
	plots := []plot{
		{title: "Latency since the scheduled start, ms", log: true, least: 1, lines: []line{{"p50", at, p50}, {"p99", at, p99}, {"longest", at, most}}},
		{title: "Works started and failed per second", lines: []line{{"started", at, works}, {"failed", at, failed}}},
		{title: "Cache hits ÷ reads in ten seconds, percent", least: 80, lines: []line{c.ratioLine()}},
	}
	for i, g := range gauges() {
		p := plot{title: strings.ToUpper(g.name[:1]) + g.name[1:]}
		if g.unit != "" {
			p.title += ", " + g.unit
		}
		for j, of := range c.series {
			l := line{name: fmt.Sprint("server ", j+1)}
			for _, m := range of {
				l.at, l.values = append(l.at, m.at), append(l.values, m.values[i])
			}
			p.lines = append(p.lines, l)
		}
		plots = append(plots, p)
	}
	return plots
}

func (c *course) ratioLine() line {
	l := line{name: "all policies"}
	for at := 10 * time.Second; at <= c.o.Dur; at += 5 * time.Second {
		if r := hitRatio(c.series, [2]time.Duration{at - 10*time.Second, at})[""]; r.all > 0 {
			l.at, l.values = append(l.at, at), append(l.values, 100*r.ratio())
		}
	}
	return l
}

// draw draws one plot.
func (c *course) draw(b *strings.Builder, p plot) {
	low, top := p.least, p.least+1
	for _, l := range p.lines {
		for _, v := range l.values {
			if !math.IsNaN(v) {
				top = max(top, v)
			}
		}
	}
	x := func(at time.Duration) float64 {
		return plotLeft + (plotRight-plotLeft)*min(float64(at)/float64(c.o.Dur), 1)
	}
	y := func(v float64) float64 {
		part := (v - low) / (top - low)
		if p.log {
			part = math.Log(max(v, low)/low) / math.Log(top/low)
		}
		return plotFoot - (plotFoot-plotTop)*min(max(part, 0), 1)
	}
	fmt.Fprintf(b, "<text class=\"title\" x=\"%d\" y=\"22\">%s</text>\n", plotLeft, p.title)
	for _, v := range marks(low, top, p.log) {
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", plotLeft, y(v), plotRight, plotLeft-6, y(v)+4, short(v))
	}
	for i := range 6 {
		at := c.o.Dur * time.Duration(i) / 5
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f s</text>\n", x(at), plotFoot+18, at.Seconds())
	}
	for _, h := range c.harms {
		fmt.Fprintf(b, "<rect class=\"fault\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>the %s Redis is down</title></rect>\n",
			x(h.from), plotTop, max(x(h.till)-x(h.from), 2), plotFoot-plotTop, h.name)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\">%s Redis</text>\n", x(h.from)+4, plotTop+10, h.name)
	}
	for i, l := range p.lines {
		var d strings.Builder
		pen := 'M'
		for j, v := range l.values {
			if math.IsNaN(v) {
				pen = 'M'
				continue
			}
			fmt.Fprintf(&d, "%c%.1f %.1f", pen, x(l.at[j]), y(v))
			pen = 'L'
		}
		fmt.Fprintf(b, "<path class=\"line l%d\" d=\"%s\"/>\n", i, d.String())
		fmt.Fprintf(b, "<path class=\"line l%d\" d=\"M%d %dh18\"/><text x=\"%d\" y=\"%d\">%s</text>\n", i, plotRight+14, plotTop+8+18*i, plotRight+38, plotTop+12+18*i, l.name)
	}
}

// marks returns a few values for the axis.
func marks(low, top float64, log bool) []float64 {
	var all []float64
	if log {
		for v := low; v <= top; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	step := math.Pow(10, math.Floor(math.Log10((top-low)/2)))
	for _, times := range []float64{1, 2, 5} {
		if (top-low)/(step*times) <= 5 {
			step *= times
			break
		}
	}
	for v := math.Ceil(low/step) * step; v <= top; v += step {
		all = append(all, v)
	}
	return all
}

func short(v float64) string {
	if v >= 10_000 {
		return fmt.Sprintf("%.0fk", v/1000)
	}
	return fmt.Sprintf("%g", math.Round(v*100)/100)
}
