package app

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// What a release says of itself, by -ldflags "-X …/internal/app.releaseVersion=v1.2.3"
// and so on; "" leaves it to what the go command knows.
var releaseVersion, releaseCommit, releaseDate string //nolint:gochecknoglobals // the linker sets them

// A Build is where this program comes from. What nobody knows is "unknown".
type Build struct{ Version, Commit, Date string }

// ThisBuild is what a release said, or else what the go command wrote into the program: the
// version of the module, and the commit and its time where it was built in a checkout.
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

// version is that of the program.
func version() string { return ThisBuild().Version }

// buildInfo is a metric that is always 1: what runs is in its labels, so that a dashboard
// shows which instances were upgraded.
func buildInfo() prometheus.Collector {
	b := ThisBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tandian_build_info", Help: "What runs: always 1, by version, commit and version of Go.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": runtime.Version()},
	})
	info.Set(1)
	return info
}
