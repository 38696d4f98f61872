package cli_test

import (
	"net"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestProbeReportsReadiness(t *testing.T) {
	stack := apptest.Embedded(t)
	s := stack.Start(t)
	stack.Config.Addr = s.Addr()
	if out, errs, code := stack.Command(t, "probe"); code != 0 || out != "ready\n" {
		t.Errorf("ready: %d %q %q", code, out, errs)
	}
	_, port, _ := net.SplitHostPort(s.Addr())
	stack.Config.Addr = ":" + port // every interface
	if _, errs, code := stack.Command(t, "probe"); code != 0 {
		t.Errorf("on every interface: %d %q", code, errs)
	}
	_ = s.Components().DB.Close()
	if out, errs, code := stack.Command(t, "probe"); code != 1 || !strings.Contains(errs, "not ready: the database does not respond") {
		t.Errorf("without a database: %d %q %q", code, out, errs)
	}
	_ = s.Stop()
	if _, errs, code := stack.Command(t, "probe"); code != 1 || !strings.Contains(errs, "refused") {
		t.Errorf("stopped: %d %q", code, errs)
	}
}
