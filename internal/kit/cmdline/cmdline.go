// Package cmdline holds what the command lines of several programs share: help,
// settings from the environment, and errors of wrong calls.
//
// It does not use the templates of cobra. They make text/template reachable, and then
// the linker cannot remove unused methods from the program.
package cmdline

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A UsageError reports a wrong call.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e UsageError) Unwrap() error { return e.Err }

// Refuse returns the error of a wrong call, like [fmt.Errorf].
func Refuse(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// Prepare sets the help of a program, and its errors. Call it after all commands are added.
//
// A command that does not set Args refuses arguments. The help of the command settings
// lists the persistent flags of root, and the help of the others refers to it. If it is
// nil, no help lists persistent flags.
func Prepare(root, settings *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().BoolP(helpFlag, "h", false, "show this help")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{flagError(err)} })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), help(cmd, settings))
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), help(cmd, settings))
		return err
	})
	root.SetHelpCommand(helpCommand())
	refuseArguments(root)
}

// Group returns a command that only has subcommands. Without one of them it shows its
// help. Use names the command and its place, such as "outbox COMMAND".
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	group.AddCommand(commands...)
	return group
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "show the help of a command", Hidden: true,
		Args:              cobra.ArbitraryArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // help needs no valid settings
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return Refuse("unknown command %q; see --help", strings.Join(args, " "))
			}
			return of.Help()
		},
	}
}

// refuseArguments makes a command and its subcommands refuse arguments that they do not
// use.
func refuseArguments(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	if cmd.Args == nil {
		cmd.Args = refuseAll
	}
	for _, sub := range cmd.Commands() {
		refuseArguments(sub)
	}
}

func refuseAll(cmd *cobra.Command, args []string) error {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	help := strings.TrimSpace(path + " --help")
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return Refuse("unknown command %q; see %s", args[0], help)
	}
	return Refuse("%s: unexpected argument %q; see %s", path, args[0], help)
}

// Names of the annotations of a flag.
const (
	groupKey    = "cmdline_group"
	variableKey = "cmdline_variable"
)

// Annotate assigns a flag to a group of the help, and to an environment variable.
func Annotate(f *pflag.Flag, group, variable string) {
	f.Annotations = map[string][]string{groupKey: {group}, variableKey: {variable}}
}

// annotation returns an annotation of a flag, or "".
func annotation(f *pflag.Flag, key string) string {
	if values := f.Annotations[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// ReadEnvironment sets the flags that have an environment variable and are not on the
// command line. Call it after flags is parsed.
//
// An empty variable clears a text and turns a switch off. It does not change other flags.
func ReadEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		variable := annotation(f, variableKey)
		if err != nil || f.Changed || variable == "" {
			return
		}
		value, ok := os.LookupEnv(variable)
		switch kind := f.Value.Type(); {
		case !ok, value == "" && kind != "string" && kind != "bool":
			return
		case value == "" && kind == "bool":
			value = "false"
		}
		if cause := f.Value.Set(value); cause != nil {
			err = UsageError{invalid(variable, value, f, cause)}
		}
	})
	return err
}

// flagError returns the error of a parser in the form that all commands use.
func flagError(err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid("--"+bad.GetFlag().Name, bad.GetValue(), bad.GetFlag(), bad.Unwrap())
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		return fmt.Errorf("unknown flag %q; see --help", "--"+unknown.GetSpecifiedName())
	}
	return err
}

// invalid returns the error of a value that a flag does not accept. Its source is the
// flag or the environment variable.
func invalid(source, value string, f *pflag.Flag, cause error) error {
	want := cause.Error()
	switch f.Value.Type() {
	case "bool":
		want = "want true or false"
	case "duration":
		want = "want a duration such as 15s"
	case "int", "int64":
		want = "want a whole number"
	case "uint64":
		want = "want a whole number that is not negative"
	case "float64":
		want = "want a number"
	}
	if errors.Is(cause, strconv.ErrRange) {
		want = "out of range"
	}
	return fmt.Errorf("invalid %s %q: %s", source, value, want)
}
