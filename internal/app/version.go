package app

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// The version of a release, set by -ldflags "-X …/internal/app.releaseVersion=v1.2.3".
// "" means the value that the go command recorded.
var releaseVersion, releaseCommit, releaseDate string //nolint:gochecknoglobals // the linker sets them

// Build describes the source of this program. Missing values are "unknown".
type Build struct{ Version, Commit, Date string }

// ThisBuild returns the values of the release. Otherwise it returns those that the go command
// recorded: the module version, and in a checkout the commit and its time.
func ThisBuild() Build {
	b := Build{releaseVersion, releaseCommit, releaseDate}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = cmp.Or(b.Commit, s.Value)
			case "vcs.time":
				b.Date = cmp.Or(b.Date, s.Value)
			}
		}
	}
	const unknown = "unknown"
	return Build{cmp.Or(b.Version, unknown), cmp.Or(b.Commit, unknown), cmp.Or(b.Date, unknown)}
}

func version() string { return ThisBuild().Version }

// buildInfo returns a metric that is always 1 and has the version in its labels, so that a
// dashboard shows which instances were upgraded.
func buildInfo() prometheus.Collector {
	b := ThisBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tandian_build_info", Help: "Always 1; the labels are version, commit and Go version.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": runtime.Version()},
	})
	info.Set(1)
	return info
}
