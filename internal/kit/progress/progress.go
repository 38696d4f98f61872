// Package progress shows the progress of long commands.
package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	lineEvery   = 2 * time.Second // minimum time between two plain lines
	lineStep    = 10              // minimum percentage between two plain lines
	redrawEvery = 100 * time.Millisecond
)

// A Bar shows the progress of a known amount of work. On a terminal it is a bar,
// elsewhere plain lines: at most ten, at least two seconds apart. A last line always has
// the number done, the total, the time and the rate. A Bar is not safe for concurrent
// use. It ignores write errors, so that work continues.
type Bar struct {
	out         io.Writer
	what        string
	total, done int
	began       time.Time
	bar         *progressbar.ProgressBar // nil if out is no terminal
	lineAt      time.Time                // time of the last plain line
	lineDone    int
	closed      bool
}

// New starts a Bar for total items, with their name in the plural. The caller must Close
// it.
func New(out io.Writer, what string, total int) *Bar {
	return newBar(out, what, total, isTerminal(out))
}

func newBar(out io.Writer, what string, total int, terminal bool) *Bar {
	now := time.Now()
	p := &Bar{out: out, what: what, total: total, began: now, lineAt: now}
	if terminal {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionThrottle(redrawEvery),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	f, ok := out.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Set sets the number of items done.
func (p *Bar) Set(done int) {
	if p.closed {
		return
	}
	p.done = done
	if p.bar != nil {
		_ = p.bar.Set(min(done, p.total))
		return
	}
	now := time.Now()
	step := (done - p.lineDone) * 100
	if done >= p.total || now.Sub(p.lineAt) < lineEvery || step < p.total*lineStep {
		return
	}
	p.lineAt, p.lineDone = now, done
	_, _ = fmt.Fprintf(p.out, "%s: %d of %d (%d %%)\n", p.what, done, p.total, done*100/p.total)
}

// Close writes the last line. Later calls of Set and Close do nothing.
func (p *Bar) Close() {
	if p.closed {
		return
	}
	p.closed = true
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	took := time.Since(p.began)
	rate := ""
	if took > 0 {
		rate = fmt.Sprintf(", %.0f/s", float64(p.done)/took.Seconds())
	}
	_, _ = fmt.Fprintf(p.out, "%s: %d of %d in %.1f s%s\n", p.what, p.done, p.total, took.Seconds(), rate)
}
