package servebench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// A size is a town with the cost of a request in it.
type size struct {
	shops, notes int
	figures      []*figure
}

// Growth measures works in towns of several sizes, and prints the cost of a request for the server
// and PostgreSQL in each. picture is the file of a chart, "" for none. The numbers of users and
// follows are constant: shops and notes grow.
func Growth(ctx context.Context, o Options, factors []int, picture string, out io.Writer) error {
	var sizes []size
	for _, factor := range factors {
		now := o
		now.Town.Shops, now.Town.Notes, now.Tail = factor*o.Town.Shops, factor*o.Town.Notes, 0
		fmt.Fprintf(o.Progress, "bench serve: %d shops, %d notes\n", now.Town.Shops, now.Town.Notes)
		figures, _, err := run(ctx, now)
		if err != nil {
			return fmt.Errorf("%d shops and %d notes: %w", now.Town.Shops, now.Town.Notes, err)
		}
		sizes = append(sizes, size{now.Town.Shops, now.Town.Notes, figures})
	}
	if picture != "" {
		if err := os.WriteFile(picture, chart(sizes), 0o600); err != nil {
			return fmt.Errorf("write the picture: %w", err)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "µs of server, Redis and PostgreSQL\t")
	for _, s := range sizes {
		_, _ = fmt.Fprintf(table, "%d shops, %d notes\t", s.shops, s.notes)
	}
	_, _ = fmt.Fprintln(table)
	for i, f := range sizes[0].figures {
		_, _ = fmt.Fprintf(table, "%s\t", f.work.name)
		for _, s := range sizes {
			f := s.figures[i]
			_, _ = fmt.Fprintf(table, "%.0f + %.0f + %.0f\t", median(f.cpu), median(f.redis), median(f.postgres))
		}
		_, _ = fmt.Fprintln(table)
	}
	return table.Flush()
}

// cost returns the CPU time of a request in microseconds, without that of the client.
func (f *figure) cost() float64 { return median(f.cpu) + median(f.redis) + median(f.postgres) }

// Sizes of the chart, in pixels.
const (
	pictureWidth, pictureHeight = 760, 420
	plotLeft, plotRight         = 80, 560
	plotTop, plotBottom         = 50, 360
)

const pictureStyle = `<style>
text { font: 13px sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: bold }
.ground { fill: #ffffff }
.grid { stroke: #d0d7de }
.line { stroke: #0969da; fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .grid { stroke: #30363d }
  .line { stroke: #58a6ff }
}
</style>
`

// chart draws the cost of each work over the size of the town. Both axes are logarithmic.
func chart(sizes []size) []byte {
	low, high := math.Inf(1), 0.0
	for _, s := range sizes {
		for _, f := range s.figures {
			low, high = min(low, f.cost()), max(high, f.cost())
		}
	}
	bottom, top := math.Pow(10, math.Floor(math.Log10(max(low, 1)))), math.Pow(10, math.Ceil(math.Log10(high)))
	x := func(i int) float64 {
		return plotLeft + float64(plotRight-plotLeft)*float64(i)/float64(max(len(sizes)-1, 1))
	}
	y := func(v float64) float64 {
		return plotBottom - float64(plotBottom-plotTop)*math.Log(max(v, bottom)/bottom)/math.Log(top/bottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"What a request costs as the town grows\">\n%s", pictureWidth, pictureHeight, pictureStyle)
	fmt.Fprintf(&b, "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", pictureWidth, pictureHeight)
	fmt.Fprintf(&b, "<text class=\"title\" x=\"%d\" y=\"28\">What a request costs as the town grows</text>\n", plotLeft)
	for v := bottom; v <= top*1.01; v *= 10 {
		fmt.Fprintf(&b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f µs</text>\n", plotLeft, y(v), plotRight, plotLeft-8, y(v)+4, v)
	}
	for i, s := range sizes {
		fmt.Fprintf(&b, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x(i), plotTop, plotBottom)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d shops</text>\n", x(i), plotBottom+20, s.shops)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d notes</text>\n", x(i), plotBottom+38, s.notes)
	}
	last := 0.0
	for _, n := range byCost(sizes[len(sizes)-1].figures) {
		points := make([]string, len(sizes))
		for i, s := range sizes {
			points[i] = fmt.Sprintf("%.1f,%.1f", x(i), y(s.figures[n].cost()))
		}
		f := sizes[len(sizes)-1].figures[n]
		last = max(y(f.cost())+4, last+17)
		fmt.Fprintf(&b, "<polyline class=\"line\" points=\"%s\"/>\n<text x=\"%d\" y=\"%.1f\">%s</text>\n", strings.Join(points, " "), plotRight+10, last, f.work.name)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// byCost returns the positions of figures, the most expensive first.
func byCost(figures []*figure) []int {
	places := make([]int, len(figures))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(figures[j].cost(), figures[i].cost()) })
	return places
}
