package feedsim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Layout in pixels: a plot with space for names on its right.
const (
	chartWidth, chartHeight = 900, 540
	plotLeft, plotRight     = 90, 650
	plotTop, plotBottom     = 70, 470
	nameHeight              = 17 // minimum distance of names
)

// chartStyle sets its own background in both color schemes, so the chart does not depend on
// the page.
const chartStyle = `<style>
text { font: 13px sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: bold }
.ground { fill: #ffffff }
.grid { stroke: #d0d7de }
.writes { stroke: #0969da; fill: none; stroke-width: 2 }
.reads { stroke: #bc4c00; fill: none; stroke-width: 2 }
.sum { stroke: #8250df; fill: none; stroke-width: 3 }
.other { stroke: #57606a; fill: none; stroke-dasharray: 6 4 }
.lead { stroke: #8c959f; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .grid { stroke: #30363d }
  .writes { stroke: #58a6ff }
  .reads { stroke: #f0883e }
  .sum { stroke: #bc8cff }
  .other { stroke: #8b949e }
  .lead { stroke: #6e7681 }
}
</style>
`

// line is a line of the chart with a value for each threshold.
type line struct {
	class, name string
	values      []float64
}

func (l line) end() float64 { return l.values[len(l.values)-1] }

// Chart draws writes, outbox reads and their sum over the threshold of [Merge] as an SVG. The
// sums of the other policies are horizontal lines. Both axes are logarithmic.
func Chart(o Options) []byte {
	lines := chartLines(o)
	low, high := math.Inf(1), 0.0
	for _, l := range lines {
		low, high = min(low, slices.Min(l.values)), max(high, slices.Max(l.values))
	}
	x := axis{from: Thresholds()[0], to: Thresholds()[len(Thresholds())-1], start: plotLeft, end: plotRight}
	y := axis{from: decade(low, math.Floor), start: plotBottom, end: plotTop}
	y.to = max(decade(high, math.Ceil), 10*y.from)
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"What the threshold of a feed costs\">\n", chartWidth, chartHeight)
	b.WriteString(chartStyle)
	fmt.Fprintf(&b, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, "<text class=\"title\" x=\"%d\" y=\"28\">From how many followers on is an author merged instead of pushed?</text>\n", plotLeft)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"49\">%s users, %s notes and %s pages a second; broken lines are writes and outbox reads of other policies</text>\n", plotLeft, Count(float64(o.Users)), Count(o.notes()), Count(o.pages()))
	drawGrid(&b, x, y)
	for _, l := range lines {
		points := make([]string, len(l.values))
		for i, v := range l.values {
			points[i] = fmt.Sprintf("%.1f,%.1f", x.at(Thresholds()[i]), y.at(v))
		}
		fmt.Fprintf(&b, "<polyline class=\"%s\" points=\"%s\"/>\n", l.class, strings.Join(points, " "))
	}
	drawNames(&b, lines, y)
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// chartLines returns the three curves and the horizontal lines.
func chartLines(o Options) []line {
	n := len(Thresholds())
	var merged []Policy
	for _, threshold := range Thresholds() {
		merged = append(merged, Merge(threshold))
	}
	writes, reads, sum := line{class: "writes", name: "inbox writes"}, line{class: "reads", name: "outbox reads"}, line{class: "sum", name: "writes and outbox reads"}
	for _, c := range Costs(o, merged) {
		writes.values = append(writes.values, c.Writes)
		reads.values = append(reads.values, c.OutboxReads)
		sum.values = append(sum.values, c.Writes+c.OutboxReads)
	}
	lines := []line{writes, reads, sum}
	others := []Policy{Pull(), PushAll(), PushActive(), ClassicHybrid(DefaultThreshold), PerPair()}
	for i, c := range Costs(o, others) {
		lines = append(lines, line{class: "other", name: others[i].Name, values: slices.Repeat([]float64{c.Writes + c.OutboxReads}, n)})
	}
	return lines
}

// axis maps values to pixels on a logarithmic scale.
type axis struct{ from, to, start, end float64 }

// at returns the pixel of a value. Values below the axis, such as 0, map to its start.
func (a axis) at(v float64) float64 {
	part := math.Log(max(v, a.from)/a.from) / math.Log(a.to/a.from)
	return a.start + part*(a.end-a.start)
}

// decade returns the power of ten below or above a value. A chart begins at 1.
func decade(v float64, round func(float64) float64) float64 {
	return math.Pow(10, round(math.Log10(max(v, 1))))
}

func drawGrid(b *strings.Builder, x, y axis) {
	for v := y.from; v <= y.to*1.01; v *= 10 {
		for _, part := range []float64{1, 2, 5} {
			if v*part > y.to*1.01 {
				break
			}
			at := y.at(v * part)
			fmt.Fprintf(b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", plotLeft, at, plotRight)
			fmt.Fprintf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", plotLeft-8, at+4, Count(v*part))
		}
	}
	for _, threshold := range Thresholds() {
		at := x.at(threshold)
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", at, plotTop, plotBottom)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at, plotBottom+20, Count(threshold))
	}
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">threshold, followers</text>\n", (plotLeft+plotRight)/2, plotBottom+46)
	fmt.Fprintf(b, "<text x=\"20\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 20 %[1]d)\">commands a second</text>\n", (plotTop+plotBottom)/2)
}

// drawNames writes the names next to the ends of their lines, from the top down without
// overlap.
func drawNames(b *strings.Builder, lines []line, y axis) {
	sorted := slices.SortedStableFunc(slices.Values(lines), func(l, m line) int { return cmp.Compare(m.end(), l.end()) })
	last := 0.0
	for _, l := range sorted {
		at := y.at(l.end())
		last = max(at, last+nameHeight)
		fmt.Fprintf(b, "<path class=\"lead\" d=\"M%d %.1fL%d %.1f\"/>\n", plotRight, at, plotRight+16, last)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%.1f\">%s</text>\n", plotRight+21, last+4, l.name)
	}
}
