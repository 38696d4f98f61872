package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

var update = flag.Bool("update", false, "rewrite docs/reference")

// docs/reference has the settings and the help of all commands, generated from the program.
func TestReferencePagesAreFresh(t *testing.T) {
	for name, want := range map[string]string{"settings.md": settingsPage(t), "commands.txt": commandsPage(t)} {
		path := filepath.Join("../../docs/reference", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("%s differs from the program; run go test ./internal/cli -run ReferencePages -update (-program +page)\n%s", name, d)
		}
	}
}

// notes are sentences that hold for all settings of a group.
var notes = map[string]string{
	"User quotas": "Each is a number an hour for each user. Accounts younger than a day have a tenth, except for pictures. 0 is no limit.\n\n",
	"Limits":      "0 is no limit. For `--limit`, see [limits](limits.md).\n\n",
}

func settingsPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Settings

A setting is a flag or an environment variable. The flag takes precedence. Every command accepts all
settings; ` + "`tandian serve --help`" + ` prints them. The variable of a flag is its name in upper case after
` + "`TANDIAN_`" + `, such as ` + "`TANDIAN_ADDR`" + `. Three have no prefix: ` + "`DATABASE_URL`, `REDIS_URL` and `REDIS_CACHE_URL`" + `.
An empty variable clears a text and turns a switch off. Lists are separated by commas. Prefer variables for
secrets: other users of the machine can read flags.

The test of this page generates it: ` + "`go test ./internal/cli -run ReferencePages -update`." + `
`)
	cfg, group, noted := config.Default(), "", 0
	cfg.Flags().VisitAll(func(f *pflag.Flag) {
		row := cmdline.Describe(f)
		if row.Group != group {
			group = row.Group
			if notes[group] != "" {
				noted++
			}
			b.WriteString("\n## " + group + "\n\n" + notes[group] + "| setting | default | effect |\n|---|---|---|\n")
		}
		value := row.Default
		if value != "" {
			value = "`" + value + "`"
		}
		usage := strings.NewReplacer("|", "\\|", "\n", " ", ", separated by commas", "", "; docs/reference/limits.md lists them", "",
			"; prefer the environment variable: other users of the machine can read flags", "", "; prefer the environment variable", "").Replace(row.Usage)
		if notes[group] != "" { // it says this of all rows
			usage = strings.NewReplacer("; 0 is no limit", "", "; a tenth of that for accounts younger than a day", "", " an hour from each user", "").Replace(usage)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Name, value, usage)
	})
	if noted != len(notes) {
		t.Errorf("%d groups have a note, want %d", noted, len(notes))
	}
	return b.String()
}

func commandsPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("The help of every command. `tandian` without a command serves. A command exits with 0,\n" +
		"with 1 if it failed, and with 2 if the call was wrong.\n")
	for _, path := range commandPaths() {
		if len(path) == 0 || path[0] == "serve" || path[0] == "help" || path[0] == "completion" {
			continue
		}
		if len(path) == 1 && (path[0] == "accounts" || path[0] == "outbox" || path[0] == "redis") {
			continue // it only lists its commands
		}
		if len(path) == 2 && path[0] == "migrate" {
			continue // the help of migrate describes it
		}
		help, _, ok := strings.Cut(helpOf(t, path...), "\nServer and store settings:")
		if !ok {
			t.Errorf("%v: the help has no last line about settings", path)
		}
		about, help, _ := strings.Cut(help, "\nUsage:\n  ")
		usage, help, _ := strings.Cut(help, "\n")
		fmt.Fprintf(&b, "\n\n$ %s\n\n%s\n", usage, strings.TrimSpace(strings.TrimSpace(about)+"\n"+strings.TrimRight(help, "\n")))
	}
	return b.String()
}
