// Package sqlfile reads SQL statements that stand in files of their own.
package sqlfile

import "strings"

// Statement is the text of a file without the lines that are comments. Those are
// its contract, for people; who counts statements by their first word sees the verb.
func Statement(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}
