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

// Finding 19: a release went on although its vulnerability scan could not run.
func TestReleaseNeedsItsVulnerabilityScan(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		fail bool
		says string
	}{
		{"a check", []string{"scripts/vuln.sh"}, false, "not checked"},
		{"a required scan", []string{"scripts/vuln.sh", "--required"}, true, "nothing is released unchecked"},
		{"a release", []string{"scripts/release.sh", "v0.0.1", t.TempDir()}, true, "the vulnerability scan did not succeed"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(root, tt.args[0]), tt.args[1:]...) //nolint:gosec // ours
		cmd.Env = append(os.Environ(), "GOVULNDB=https://127.0.0.1:1")
		out, err := cmd.CombinedOutput()
		if (err != nil) != tt.fail || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v, %s", tt.name, err, out)
		}
	}
}
