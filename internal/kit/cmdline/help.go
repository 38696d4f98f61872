package cmdline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpFlag   = "help"
	ownGroup   = "Flags" // of flags without a group
	width      = 100     // columns of a line, at most
	maxName    = 36      // columns of a name next to which its text begins
	nameIndent = 2
	nameGap    = 2
)

// A Row is a name and its text.
type Row struct{ Name, Text string }

// Table returns rows as two columns, wrapped at 100 columns. Lines of a text begin below
// each other. A long name has a line of its own.
func Table(rows ...Row) string {
	return table(columnOf(rows), rows)
}

// columnOf returns the column at which the texts of rows begin.
func columnOf(rows []Row) int {
	longest := 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row.Name); n <= maxName {
			longest = max(longest, n)
		}
	}
	return nameIndent + longest + nameGap
}

func table(column int, rows []Row) string {
	var b strings.Builder
	for _, row := range rows {
		line := strings.Repeat(" ", nameIndent) + row.Name
		if utf8.RuneCountInString(line)+nameGap > column || row.Text == "" {
			b.WriteString(line + "\n")
			line = ""
		}
		for _, part := range fill(row.Text, width-column) {
			b.WriteString(line + strings.Repeat(" ", column-utf8.RuneCountInString(line)) + part + "\n")
			line = ""
		}
	}
	return b.String()
}

// fill breaks a text into lines of at most the given columns. Breaks in the text remain.
// A longer word has a line of its own.
func fill(text string, columns int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns:
				lines, line = append(lines, line), word
			default:
				line += " " + word
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// paragraphs returns a text with its long lines wrapped. Shorter lines, such as those of
// a table, remain as they are.
func paragraphs(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if utf8.RuneCountInString(line) <= width {
			b.WriteString(line + "\n")
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for _, part := range fill(line, width-len(indent)) {
			b.WriteString(indent + part + "\n")
		}
	}
	return b.String()
}

// help returns the help of a command.
func help(cmd, settings *cobra.Command) string {
	groups := flagGroups(cmd, settings)
	commands := commandRows(cmd)
	sections := []string{
		paragraphs(sentence(cmd.Short)),
		"Usage:\n  " + usageLine(cmd, len(groups) > 0) + "\n",
	}
	if cmd.Long != "" {
		sections = append(sections, paragraphs(cmd.Long))
	}
	if len(commands) > 0 {
		sections = append(sections, "Commands:\n"+Table(commands...))
	}
	column := 0
	for _, g := range groups {
		column = max(column, columnOf(g.rows))
	}
	for _, g := range groups {
		sections = append(sections, g.name+":\n"+table(column, g.rows))
	}
	more := ""
	if len(commands) > 0 {
		more = "Help for a command: " + cmd.CommandPath() + " COMMAND --help\n"
	}
	if settings != nil && cmd != settings {
		more += "Server and store settings: " + settings.CommandPath() + " --help\n"
	}
	if more != "" {
		sections = append(sections, more)
	}
	return strings.Join(sections, "\n")
}

// sentence returns a short text as a sentence.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// usageLine returns how a command is called.
func usageLine(cmd *cobra.Command, flags bool) string {
	line := cmd.CommandPath()
	if flags {
		line += " [FLAGS]"
	}
	if _, arguments, ok := strings.Cut(cmd.Use, " "); ok {
		line += " " + arguments
	}
	return line
}

func commandRows(cmd *cobra.Command) []Row {
	var rows []Row
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, Row{sub.Name(), sub.Short})
		}
	}
	return rows
}

// A flagGroup holds flags below one heading.
type flagGroup struct {
	name string
	rows []Row
}

// flagGroups returns the flags of a command, by group, in the order of their definition.
// Flags without a group come first.
func flagGroups(cmd, settings *cobra.Command) []*flagGroup {
	var groups []*flagGroup
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Name == helpFlag {
			return
		}
		name := annotation(f, groupKey)
		if name == "" {
			name = ownGroup
		}
		for _, g := range groups {
			if g.name == name {
				g.rows = append(g.rows, flagRow(f))
				return
			}
		}
		g := &flagGroup{name, []Row{flagRow(f)}}
		if name == ownGroup {
			groups = slices.Insert(groups, 0, g)
		} else {
			groups = append(groups, g)
		}
	}
	persistent := cmd.Root().PersistentFlags()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if persistent.Lookup(f.Name) != f {
			add(f)
		}
	})
	if cmd == settings {
		persistent.VisitAll(add)
	}
	return groups
}

// flagRow returns the name of a flag with that of its value, and its usage with its
// default and its environment variable.
func flagRow(f *pflag.Flag) Row {
	d := Describe(f)
	var notes []string
	if d.Default != "" {
		notes = append(notes, "default "+d.Default)
	}
	if d.Variable != "" {
		notes = append(notes, "$"+d.Variable)
	}
	text := d.Usage
	if len(notes) > 0 {
		between := " "
		if d.Variable != "" {
			between = "\n"
		}
		text += between + "(" + strings.Join(notes, ", ") + ")"
	}
	return Row{d.Name, text}
}

// A Description holds the parts of a flag's help.
type Description struct {
	Group    string // heading; empty for the flags of one command
	Name     string // with its value, such as --addr HOST:PORT
	Usage    string
	Default  string // empty for an empty or switched off one
	Variable string // environment variable, without $; may be empty
}

// Describe returns the description of a flag.
func Describe(f *pflag.Flag) Description {
	value, usage := pflag.UnquoteUsage(f)
	kind := f.Value.Type()
	switch {
	case f.DefValue == "true" && kind == "bool":
		value = "[=false]"
	case !strings.Contains(f.Usage, "`"):
		value = valueName(kind)
	}
	name := "--" + f.Name
	if value != "" && value[0] != '[' {
		name += " "
	}
	return Description{
		Group: annotation(f, groupKey), Name: name + value, Usage: usage,
		Default: defaultText(f.DefValue, kind), Variable: annotation(f, variableKey),
	}
}

// valueName returns the name of a value whose usage names none.
func valueName(kind string) string {
	switch kind {
	case "bool":
		return ""
	case "duration":
		return "DURATION"
	case "string":
		return "TEXT"
	}
	return "NUMBER"
}

// defaultText returns the default of a flag, or "" if it is empty or off.
func defaultText(value, kind string) string {
	switch kind {
	case "bool":
		if value == "false" {
			return ""
		}
	case "duration": // 15m0s is 15m
		if strings.HasSuffix(value, "m0s") {
			value = strings.TrimSuffix(value, "0s")
		}
		if strings.HasSuffix(value, "h0m") {
			value = strings.TrimSuffix(value, "0m")
		}
	}
	return value
}
