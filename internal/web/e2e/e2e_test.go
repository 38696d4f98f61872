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

	"github.com/tandian-dev/tandian/internal/kit/door/clients"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// oneStack is the longest time that all specs take on one stack.
const oneStack = 12 * time.Minute

// TestBrowser runs the specs on both stacks, or those whose file names contain an argument:
// -args playground. With TANDIAN_E2E_LOOK=phone-en-light each spec runs once: on stores
// where it asks them, and the tour of all screens in that look alone. The specs in otherLooks
// do not run then.
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
		t.Fatalf("no file here is called *%s*.spec.ts", strings.Join(flag.Args(), "*.spec.ts or *"))
	}
	clients.Node(t, "../app") // specs of its parts import what they import
	node := clients.Node(t, ".")
	program := "TANDIAN_E2E_BINARY=" + build(t)

	// Several at once: a browser waits more than it works.
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
			return !slices.Contains(alone, file) && slices.Index(wanted, file)%2 == odd
		}
	}
	part("stores-1", half(0), stores)
	part("stores-2", half(1), stores)
	if look != "" { // what the stores part left out, and the tour in one look
		part("embedded", func(file string) bool { return file != tour && slices.Contains(alone, file) }, embedded)
		part("embedded-"+look, func(file string) bool { return file == tour }, embedded, "--grep", look)
		return
	}
	// In halves, which end together.
	part("embedded-phone", func(file string) bool { return file == tour }, embedded, "--grep", "phone-")
	part("embedded-desktop", func(file string) bool { return file == tour }, embedded, "--grep-invert", "phone-")
}

// tour is what opens every screen in every look.
const tour = "screens.spec.ts"

// alone names what does not ask the stores anything, and runs on the embedded ones only.
var alone = []string{tour, "playground.spec.ts", "units.spec.ts"}

// otherLooks lists the specs for one more script and for older browsers.
var otherLooks = []string{"bidi.spec.ts", "oldbrowsers.spec.ts"}

// build builds the program as people get it.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tandian")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/tandian-dev/tandian")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return program
}

// run runs specs in one environment, with what Playwright takes for arguments. What it
// says goes to the terminal as it says it.
func run(t *testing.T, node *clients.Runner, args []string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), oneStack, fmt.Errorf("the specs did not end within %v", oneStack))
	defer cancel()
	cmd := node.Command(ctx, env, append([]string{"node_modules/@playwright/test/cli.js", "test"}, args...)...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	// It ends the servers and browsers that it started, unless it takes too long.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("the browser saw something else: %v", errors.Join(err, context.Cause(ctx)))
	}
}

// sleeping finds what waits for a time to pass: a fast machine waits for nothing then,
// and a slow one not long enough.
var sleeping = regexp.MustCompile(`waitForTimeout|(?:^|[^.])\bsetTimeout\b|networkidle`)

func TestSpecsWaitForStatesAndNotForTime(t *testing.T) {
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
			t.Errorf("%s: %q; wait for what should be seen: expect(…).toBeVisible(), expect.poll(…)", name, found)
		}
	}
}
