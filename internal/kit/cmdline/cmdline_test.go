package cmdline_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

// program has a setting of each kind, a command with a flag, and one with arguments.
type program struct {
	text, more   string
	number       int
	wait         time.Duration
	on           bool
	ratio        float64
	size         uint64
	out          bytes.Buffer
	called, args string
}

// run runs the program. A command with the argument "fail" fails.
func (p *program) run(t *testing.T, args ...string) error {
	t.Helper()
	action := func(cmd *cobra.Command, args []string) error {
		p.called, p.args = cmd.CommandPath(), strings.Join(args, " ")
		if p.args == "fail" {
			return errors.ErrUnsupported
		}
		return nil
	}
	root := &cobra.Command{
		Use: "prog [COMMAND]", Short: "serve", RunE: action,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cmdline.ReadEnvironment(cmd.Flags()) },
	}
	root.SetOut(&p.out)
	root.SetErr(&p.out)
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&p.text, "text", "abc", "use `WORD`")
	f.IntVar(&p.number, "number", 7, "count to this")
	f.DurationVar(&p.wait, "wait", 90*time.Minute, "wait")
	f.BoolVar(&p.on, "on", true, "switch on")
	f.Float64Var(&p.ratio, "ratio", 0.5, "divide")
	f.Uint64Var(&p.size, "size", 0, "use a size that a very long text describes, so long that it needs a second line of the help")
	f.VisitAll(func(f *pflag.Flag) {
		group := "Numbers"
		if f.Name == "text" {
			group = "Texts"
		}
		cmdline.Annotate(f, group, "CMDLINE_"+strings.ToUpper(f.Name))
	})
	serve := &cobra.Command{Use: "serve", Short: "serve", RunE: action}
	get := &cobra.Command{Use: "get KEY…", Short: "print keys", Long: "Keys are sorted.", RunE: action, Args: cobra.ArbitraryArgs}
	get.Flags().StringVar(&p.more, "more", "", "print `PART` too")
	get.Flags().Bool("dry", false, "print nothing")
	root.AddCommand(serve, get, cmdline.Group("tools COMMAND", "use tools", &cobra.Command{Use: "cut", Short: "cut", RunE: action}))
	cmdline.Prepare(root, serve)
	root.SetArgs(append([]string{}, args...))
	return root.ExecuteContext(t.Context())
}

func TestPrepareRunsCommandsWithFlagsAnywhere(t *testing.T) {
	for _, tt := range []struct {
		args         string
		called, rest string
	}{
		{"", "prog", ""},
		{"--number 3", "prog", ""},
		{"--number 3 serve", "prog serve", ""},
		{"get a --number=3 b", "prog get", "a b"},
		{"get --more x a", "prog get", "a"},
		{"--text serve tools --on=false cut", "prog tools cut", ""},
	} {
		var p program
		if err := p.run(t, strings.Fields(tt.args)...); err != nil || p.called != tt.called || p.args != tt.rest || p.out.Len() > 0 {
			t.Errorf("%q: %q with %q, %v, %s", tt.args, p.called, p.args, err, &p.out)
		}
	}
}

func TestWrongCallsAreUsageErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"srve", `unknown command "srve"; see --help`},
		{"tools paste", `unknown command "paste"; see tools --help`},
		{"serve all", `serve: unexpected argument "all"; see serve --help`},
		{"tools cut all", `tools cut: unexpected argument "all"; see tools cut --help`},
		{"--colour red", `unknown flag "--colour"; see --help`},
		{"help srve", `unknown command "srve"; see --help`},
		{"help tools cut all", `unknown command "tools cut all"; see --help`},
		{"--number many", `invalid --number "many": want a whole number`},
		{"--number 99999999999999999999", `invalid --number "99999999999999999999": out of range`},
		{"--wait 15", `invalid --wait "15": want a duration such as 15s`},
		{"--on=perhaps", `invalid --on "perhaps": want true or false`},
		{"--ratio half", `invalid --ratio "half": want a number`},
		{"--size -1", `invalid --size "-1": want a whole number that is not negative`},
		{"--number", `flag needs an argument: --number`},
	} {
		var p program
		err := p.run(t, strings.Fields(tt.args)...)
		if _, usage := errors.AsType[cmdline.UsageError](err); !usage || err.Error() != tt.want || p.called != "" || p.out.Len() > 0 {
			t.Errorf("%q: %v, want %s; called %q, printed %q", tt.args, err, tt.want, p.called, &p.out)
		}
	}
	var p program
	err := p.run(t, "get", "fail")
	if _, usage := errors.AsType[cmdline.UsageError](err); usage || !errors.Is(err, errors.ErrUnsupported) || p.out.Len() > 0 {
		t.Errorf("a command that fails: %v, printed %q", err, &p.out)
	}
}

func TestReadEnvironmentYieldsToFlags(t *testing.T) {
	type settings struct {
		Text   string
		Number int
		Wait   time.Duration
		On     bool
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		args string
		want settings
	}{
		{"nothing set", nil, "", settings{"abc", 7, 90 * time.Minute, true}},
		{"environment", map[string]string{"TEXT": "x", "NUMBER": "1", "WAIT": "1s", "ON": "0"}, "", settings{"x", 1, time.Second, false}},
		{"flags", map[string]string{"TEXT": "x", "NUMBER": "1", "WAIT": "1s", "ON": "0"}, "--text=y --number=2 --wait=2s --on", settings{"y", 2, 2 * time.Second, true}},
		{"flags hide wrong values", map[string]string{"NUMBER": "many"}, "--number=2", settings{"abc", 2, 90 * time.Minute, true}},
		{"empty variables", map[string]string{"TEXT": "", "NUMBER": "", "WAIT": "", "ON": ""}, "", settings{"", 7, 90 * time.Minute, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv("CMDLINE_"+name, value)
			}
			var p program
			if err := p.run(t, strings.Fields(tt.args)...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, settings{p.text, p.number, p.wait, p.on}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadEnvironmentNamesTheWrongVariable(t *testing.T) {
	t.Setenv("CMDLINE_WAIT", "soon")
	var p program
	err := p.run(t)
	if _, usage := errors.AsType[cmdline.UsageError](err); !usage || err.Error() != `invalid CMDLINE_WAIT "soon": want a duration such as 15s` || p.called != "" {
		t.Errorf("%v, called %q", err, p.called)
	}
}

func TestHelp(t *testing.T) {
	t.Setenv("CMDLINE_TEXT", "secret")
	for args, want := range map[string]string{
		"--help": `Serve.

Usage:
  prog [COMMAND]

Commands:
  get    print keys
  serve  serve
  tools  use tools

Help for a command: prog COMMAND --help
Server and store settings: prog serve --help
`,
		"serve --help": `Serve.

Usage:
  prog serve [FLAGS]

Texts:
  --text WORD      use WORD
                   (default abc, $CMDLINE_TEXT)

Numbers:
  --number NUMBER  count to this
                   (default 7, $CMDLINE_NUMBER)
  --wait DURATION  wait
                   (default 1h30m, $CMDLINE_WAIT)
  --on[=false]     switch on
                   (default true, $CMDLINE_ON)
  --ratio NUMBER   divide
                   (default 0.5, $CMDLINE_RATIO)
  --size NUMBER    use a size that a very long text describes, so long that it needs a second line
                   of the help
                   (default 0, $CMDLINE_SIZE)
`,
		"get --help": `Print keys.

Usage:
  prog get [FLAGS] KEY…

Keys are sorted.

Flags:
  --more PART  print PART too
  --dry        print nothing

Server and store settings: prog serve --help
`,
		"tools": `Use tools.

Usage:
  prog tools COMMAND

Commands:
  cut  cut

Help for a command: prog tools COMMAND --help
Server and store settings: prog serve --help
`,
	} {
		var p program
		if err := p.run(t, strings.Fields(args)...); err != nil || p.called != "" {
			t.Errorf("%s: %v, called %q", args, err, p.called)
		}
		if diff := cmp.Diff(want, p.out.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", args, diff)
		}
	}
}

func TestHelpFlagAndHelpCommandAgree(t *testing.T) {
	var first program
	if err := first.run(t, "tools", "cut", "--help"); err != nil || !strings.HasPrefix(first.out.String(), "Cut.\n") {
		t.Fatalf("%v, %s", err, &first.out)
	}
	for _, args := range []string{"tools cut -h", "--help tools cut", "help tools cut", "tools --help cut --number 3"} {
		var p program
		if err := p.run(t, strings.Fields(args)...); err != nil || p.out.String() != first.out.String() {
			t.Errorf("%s: %v\n%s", args, err, &p.out)
		}
	}
}

func TestTableGivesLongNamesTheirOwnLine(t *testing.T) {
	long := strings.Repeat("x", 37)
	got := cmdline.Table(cmdline.Row{"a", "one"}, cmdline.Row{long, "two"}, cmdline.Row{"bcd", ""}, cmdline.Row{"é", "three\nfour"}, cmdline.Row{"e", strings.Repeat("y", 95)})
	want := "  a    one\n  " + long + "\n       two\n  bcd\n  é    three\n       four\n  e    " + strings.Repeat("y", 95) + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
