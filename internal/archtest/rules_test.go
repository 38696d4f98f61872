package archtest

import (
	"strings"
	"testing"
)

// Each row of the table of rules names an existing test.
func TestEachRedisRuleHasATest(t *testing.T) {
	tests := testsByName(t)
	_, table, _ := strings.Cut(pageText(t, "docs/guide/operations.md"), "\n| rule | here | test |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for line := range strings.Lines(table) {
		rows++
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			t.Errorf("got %d cells, want 3: %s", len(cells)-2, line)
			continue
		}
		names := testName.FindAllString(cells[3], -1)
		if len(names) == 0 {
			t.Errorf("rule without a test:%s", cells[1])
		}
		for _, name := range names {
			if !tests[name] {
				t.Errorf("rule%swith unknown test %s", cells[1], name)
			}
		}
	}
	if rows < 20 {
		t.Errorf("got %d rules, want at least 20", rows)
	}
}
