package app

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// What a release says of itself, by -ldflags "-X …/internal/app.releaseVersion=v1.2.3"
// and so on; "" leaves it to what the go command knows.
var releaseVersion, releaseCommit, releaseDate string //nolint:gochecknoglobals // the linker sets them

// A build is where this program comes from. What nobody knows is "unknown".
type build struct{ version, commit, date string }

// thisBuild is what a release said, or else what the go command wrote into the program: the
// version of the module, and the commit and its time where it was built in a checkout.
func thisBuild() build {
	b := build{releaseVersion, releaseCommit, releaseDate}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.version = cmp.Or(b.version, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.commit = cmp.Or(b.commit, s.Value)
			case "vcs.time":
				b.date = cmp.Or(b.date, s.Value)
			}
		}
	}
	const unknown = "unknown"
	return build{cmp.Or(b.version, unknown), cmp.Or(b.commit, unknown), cmp.Or(b.date, unknown)}
}

// version is that of the program.
func version() string { return thisBuild().version }

// buildInfo is a metric that is always 1: what runs is in its labels, so that a dashboard
// shows which instances were upgraded.
func buildInfo() prometheus.Collector {
	b := thisBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tandian_build_info", Help: "What runs: always 1, by version, commit and version of Go.",
		ConstLabels: prometheus.Labels{"version": b.version, "commit": b.commit, "go": runtime.Version()},
	})
	info.Set(1)
	return info
}

func (c *commands) version(*cobra.Command, []string) error {
	b := thisBuild()
	_, err := fmt.Fprintf(c.stdout, "tandian %s\ncommit   %s\ndate     %s\ngo       %s\nplatform %s/%s\n", b.version, b.commit, b.date, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
