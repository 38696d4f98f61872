//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/clients"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// oneStack limits the time of all specs on one stack.
const oneStack = 12 * time.Minute

// TestBrowser runs the specs on both stacks. Arguments select specs by a part of their file
// name: -args playground. With TANDIAN_E2E_LOOK=phone-en-light each spec runs once, on stores
// if it needs them, and the tour of all screens runs in that look only. The specs in
// otherLooks are skipped then.
func TestBrowser(t *testing.T) {
	if os.Getenv("TANDIAN_TEST_CHROMIUM") == "" {
		const how = "needs a Chromium or Google Chrome: `make browser`, or name one in TANDIAN_TEST_CHROMIUM, then `make e2e`"
		if os.Getenv("CI") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	all, err := filepath.Glob("*.spec.ts")
	if err != nil || len(all) == 0 {
		t.Fatalf("want specs, got %v (%v)", all, err)
	}
	look := os.Getenv("TANDIAN_E2E_LOOK")
	wanted := slices.DeleteFunc(all, func(file string) bool {
		return look != "" && slices.Contains(otherLooks, file) || flag.NArg() > 0 && !slices.ContainsFunc(flag.Args(), func(part string) bool { return strings.Contains(file, part) })
	})
	if len(wanted) == 0 {
		t.Fatalf("no spec matches *%s*.spec.ts", strings.Join(flag.Args(), "*.spec.ts or *"))
	}
	clients.Node(t, "../app") // units.spec.ts imports modules of the app
	node := clients.Node(t, ".")
	program := "TANDIAN_E2E_BINARY=" + build(t)

	// In parallel: browsers wait most of the time.
	part := func(name string, of func(file string) bool, env func() []string, options ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files []string
			for _, file := range wanted {
				if of(file) {
					files = append(files, file)
				}
			}
			if len(files) > 0 {
				run(t, node, append(options, files...), append(env(), program, "TANDIAN_E2E_RUN="+name)...)
			}
		})
	}
	embedded := func() []string { return []string{"DATABASE_URL=", "REDIS_URL="} }
	if look == "" {
		part("embedded", func(file string) bool { return file != tour }, embedded)
	}
	stores := func() []string {
		return []string{
			"DATABASE_URL=" + testkit.Postgres(t), "REDIS_URL=" + testkit.Redis(t),
			"TANDIAN_CODE_SENDER=console", "TANDIAN_E2E_DATA=" + t.TempDir(),
		}
	}
	half := func(odd int) func(file string) bool {
		return func(file string) bool {
			return !slices.Contains(embeddedOnly, file) && slices.Index(wanted, file)%2 == odd
		}
	}
	part("stores-1", half(0), stores)
	part("stores-2", half(1), stores)
	if look != "" { // the specs without stores, and the tour in one look
		part("embedded", func(file string) bool { return file != tour && slices.Contains(embeddedOnly, file) }, embedded)
		part("embedded-"+look, func(file string) bool { return file == tour }, embedded, "--grep", look)
		return
	}
	// In two halves of equal duration.
	part("embedded-phone", func(file string) bool { return file == tour }, embedded, "--grep", "phone-")
	part("embedded-desktop", func(file string) bool { return file == tour }, embedded, "--grep-invert", "phone-")
}

// tour opens every screen in every look.
const tour = "screens.spec.ts"

// embeddedOnly lists the specs that need no stores.
var embeddedOnly = []string{tour, "playground.spec.ts", "units.spec.ts"}

// otherLooks lists the specs for right-to-left text and older browsers.
var otherLooks = []string{"bidi.spec.ts", "oldbrowsers.spec.ts"}

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tandian")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/tandian-dev/tandian")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return program
}

// run runs specs in one environment, with arguments for Playwright. It streams Playwright's
// output to the test log.
func run(t *testing.T, node *clients.Runner, args []string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), oneStack, fmt.Errorf("the specs did not end within %v", oneStack))
	defer cancel()
	cmd := node.Command(ctx, env, append([]string{"node_modules/@playwright/test/cli.js", "test"}, args...)...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	// An interrupt lets Playwright stop its servers and browsers.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("run the specs: %v", errors.Join(err, context.Cause(ctx)))
	}
}

// sleeping matches waits for time instead of states. They are too long on fast machines and
// too short on slow ones.
var sleeping = regexp.MustCompile(`waitForTimeout|(?:^|[^.])\bsetTimeout\b|networkidle`)

func TestSpecsDoNotSleep(t *testing.T) {
	specs, err := filepath.Glob("*.spec.ts")
	if err != nil || len(specs) == 0 {
		t.Fatalf("want specs, got %v (%v)", specs, err)
	}
	for _, name := range specs {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := sleeping.FindAllString(string(text), -1); found != nil {
			t.Errorf("%s: %q; wait for a state instead: expect(…).toBeVisible(), expect.poll(…)", name, found)
		}
	}
}
