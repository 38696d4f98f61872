package cli

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/config"
)

func helpOf(t *testing.T, path ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(t.Context(), slices.Concat([]string{"tandian"}, path, []string{"--help"}), &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("%v --help: exit %d, %s", path, code, &errs)
	}
	return out.String()
}

// commandPaths returns the words of every command, also of hidden ones.
func commandPaths() (paths [][]string) {
	root := (&commands{cfg: config.Default(), stdout: io.Discard, stderr: io.Discard}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		paths = append(paths, path)
		for _, sub := range cmd.Commands() {
			walk(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	walk(root, nil)
	return paths
}

// shownFlags returns the flags that a help lists, and the heading above each.
func shownFlags(help string) (names, headings []string) {
	heading, flag := "", regexp.MustCompile(`^  --([a-z0-9-]+)`)
	for line := range strings.Lines(help) {
		if name := flag.FindStringSubmatch(line); name != nil {
			names, headings = append(names, name[1]), append(headings, heading)
		} else if !strings.HasPrefix(line, " ") && strings.HasSuffix(line, ":\n") {
			heading = strings.TrimSuffix(line, ":\n")
		}
	}
	return names, headings
}

func settingNames() (names []string) {
	cfg := config.Default()
	cfg.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func TestHelpFitsInto100Columns(t *testing.T) {
	paths := commandPaths()
	if len(paths) < 20 {
		t.Fatalf("only %d commands", len(paths))
	}
	for _, path := range paths {
		for line := range strings.Lines(helpOf(t, path...)) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
				t.Errorf("%v: %d columns: %s", path, n, line)
			}
		}
	}
}

func TestHelpListsCommandsWithoutSettings(t *testing.T) {
	help := helpOf(t)
	for _, name := range []string{"accounts", "grant", "import", "migrate", "outbox", "probe", "reconcile", "redis", "seed", "serve", "version"} {
		if !regexp.MustCompile(`(?m)^  ` + name + `  +[a-z]`).MatchString(help) {
			t.Errorf("no command %s", name)
		}
	}
	for _, name := range settingNames() {
		if regexp.MustCompile(`--` + name + `\b`).MatchString(help) {
			t.Errorf("the help shows --%s", name)
		}
	}
	if !strings.Contains(help, ": tandian serve --help\n") {
		t.Error("the help does not refer to the settings")
	}
	if t.Failed() {
		t.Log(help)
	}
}

func TestServeHelpShowsEachSettingInAGroup(t *testing.T) {
	help := helpOf(t, "serve")
	names, headings := shownFlags(help)
	if diff := cmp.Diff(settingNames(), names); diff != "" {
		t.Errorf("settings (-want +shown)\n%s", diff)
	}
	want := []string{
		"Stores", "Listening and clients", "Login", "Orders and payment", "Feed and notes", "Ratings", "Pictures",
		"User quotas", "Limits", "Logs and processes",
	}
	if diff := cmp.Diff(want, slices.Compact(headings)); diff != "" {
		t.Errorf("groups (-want +shown)\n%s", diff)
	}
	for _, name := range settingNames() {
		if n := len(regexp.MustCompile(`\$`+config.Variable(name)+`\)`).FindAllString(help, -1)); n != 1 {
			t.Errorf("--%s: its variable is shown %d times", name, n)
		}
	}
	for _, text := range []string{
		"--addr HOST:PORT ", "(default 127.0.0.1:8080, $TANDIAN_ADDR)", "(default 15m, $TANDIAN_PAY_WITHIN)",
		"(default api,workers, $TANDIAN_RUN)", "(default 720h, $TANDIAN_DELETED_TEXT_RETENTION)", "--introspection[=false] ",
	} {
		if !strings.Contains(help, text) {
			t.Errorf("no %q", text)
		}
	}
	if t.Failed() {
		t.Log(help)
	}
}

func TestOtherHelpShowsOnlyOwnFlags(t *testing.T) {
	settings := settingNames()
	for _, path := range commandPaths() {
		if slices.Equal(path, []string{"serve"}) {
			continue
		}
		help := helpOf(t, path...)
		names, _ := shownFlags(help)
		for _, name := range names {
			if slices.Contains(settings, name) {
				t.Errorf("%v shows --%s", path, name)
			}
		}
		if n := strings.Count(help, "tandian serve --help\n"); n != 1 {
			t.Errorf("%v refers %d times to the settings", path, n)
		}
	}
	for path, want := range map[string][]string{
		"seed":                  {"users", "shops", "notes", "follows", "ratings", "saves", "check-ins", "visits", "pictures", "tokens", "seed"},
		"import":                {"source", "shop-zone"},
		"reconcile":             {"dry-run", "only", "rate"},
		"redis bigkeys":         {"role", "rate", "top"},
		"redis cat":             {"role"},
		"accounts check-phones": {"rewrite"},
	} {
		names, _ := shownFlags(helpOf(t, strings.Fields(path)...))
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +shown)\n%s", path, diff)
		}
	}
}

func TestHelpNeedsNoValidSettings(t *testing.T) {
	t.Setenv("TANDIAN_CONNS", "many")
	want := helpOf(t, "redis", "cat")
	var out, errs bytes.Buffer
	if code := Main(t.Context(), []string{"tandian", "help", "redis", "cat"}, &out, &errs); code != 0 || out.String() != want {
		t.Errorf("help redis cat: exit %d, %s%s", code, &out, &errs)
	}
	if code := Main(t.Context(), []string{"tandian", "help", "redis", "dog"}, &out, &errs); code != 2 || !strings.Contains(errs.String(), `unknown command "redis dog"`) {
		t.Errorf("help redis dog: exit %d, %s", code, &errs)
	}
}

func TestSettingsPrecedeOrFollowTheCommand(t *testing.T) {
	for _, args := range [][]string{
		{"--redis-prefix", "A", "version"},
		{"version", "--redis-prefix", "A"},
		{"--redis-prefix=A", "migrate", "status"},
		{"migrate", "--redis-prefix", "A", "status"},
		{"migrate", "status", "--redis-prefix=A"},
		{"redis", "cat", "td:x", "--redis-prefix=A"},
		{"--redis-prefix", "A"}, // serves
	} {
		var out, errs bytes.Buffer
		code := Main(t.Context(), append([]string{"tandian"}, args...), &out, &errs)
		if code != 2 || errs.String() != "tandian: --redis-prefix: must be 1 to 32 lower-case letters, digits or dashes, not \"A\"\n" || out.Len() > 0 {
			t.Errorf("%v: exit %d, %s%s", args, code, &out, &errs)
		}
	}
}

func TestGroupsNeedACommand(t *testing.T) {
	for _, group := range []string{"accounts", "outbox", "redis"} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), []string{"tandian", group}, &out, &errs); code != 0 || out.String() != helpOf(t, group) {
			t.Errorf("%s: exit %d, %s%s", group, code, &out, &errs)
		}
		if code := Main(t.Context(), []string{"tandian", group, "x"}, io.Discard, &errs); code != 2 || errs.String() != "tandian: unknown command \"x\"; see "+group+" --help\n" {
			t.Errorf("%s x: exit %d, %s", group, code, &errs)
		}
	}
}
