package archtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A release must fail if its vulnerability scan cannot run.
func TestReleaseNeedsItsVulnerabilityScan(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		fail bool
		want string
	}{
		{"a check", []string{"scripts/vuln.sh"}, false, "not checked"},
		{"a required scan", []string{"scripts/vuln.sh", "--required"}, true, "nothing is released unchecked"},
		{"a release", []string{"scripts/release.sh", "v0.0.1", t.TempDir()}, true, "the vulnerability scan did not succeed"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(root, tt.args[0]), tt.args[1:]...) //nolint:gosec // a script of this repository
		cmd.Env = append(os.Environ(), "GOVULNDB=https://127.0.0.1:1")
		out, err := cmd.CombinedOutput()
		if (err != nil) != tt.fail || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: got %v, %s, want %q", tt.name, err, out, tt.want)
		}
	}
}
