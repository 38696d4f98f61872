package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// missingNotes returns the migrations without a row of five cells, none of them empty, in a page.
func missingNotes(page string, migrations []string) (missing []string) {
	for _, name := range migrations {
		row := regexp.MustCompile(`(?m)^\|[^|\n]*\b` + regexp.QuoteMeta(name) + `\b[^|\n]*\|(?: *[^|\s][^|\n]*\|){4}$`)
		if !row.MatchString(page) {
			missing = append(missing, name)
		}
	}
	return missing
}

// docs/operate/upgrade.md states for each migration the change, its locks, whether the previous version
// can run at the same time, and the steps after a failure.
func TestEveryMigrationHasAnUpgradeNote(t *testing.T) {
	page := pageText(t, "docs/operate/upgrade.md")
	for _, dialect := range []string{"postgres", "sqlite"} {
		files, err := filepath.Glob(filepath.Join(root, "ent/migrate", dialect, "*.sql"))
		if err != nil || len(files) < 10 {
			t.Fatalf("got %d migrations of %s, %v", len(files), dialect, err)
		}
		var names []string
		for _, f := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(f), ".sql"))
		}
		for _, name := range missingNotes(page, names) {
			t.Errorf("docs/operate/upgrade.md has no complete row for %s of %s", name, dialect)
		}
	}
	const other = "| 20260101000000_x | changes | nothing | yes | start again |\n| 20260102000000_y | changes | | yes | again |\n"
	if got := missingNotes(other, []string{"20260101000000_x", "20260102000000_y", "20260103000000_z"}); len(got) != 2 {
		t.Errorf("got missing notes %q, want two", got)
	}
}

// A migration must not drop or change anything that a running server of the previous release uses.
// No server wrote to the dropped lock_fences; only the job that cleaned it fails. No release used
// the indexes of shops that the ratings drop; the new indexes of lists serve the same statements.
func TestMigrationsOnlyAdd(t *testing.T) {
	destructive := regexp.MustCompile(`(?i)\b(DROP\s+(TABLE|COLUMN|INDEX|CONSTRAINT)|RENAME|SET\s+NOT\s+NULL|ALTER\s+COLUMN\s+\S+\s+(SET\s+DATA\s+)?TYPE)\b`)
	files, err := filepath.Glob(filepath.Join(root, "ent/migrate/postgres/*.sql"))
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d migrations, %v", len(files), err)
	}
	drops := map[string]string{
		"20261129212500_drop_lock_fences.sql":    "DROP TABLE",
		"20261201051440_ratings_saves_hours.sql": "DROP INDEX",
		"20261201051441_shop_lists.sql":          "DROP INDEX",
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		if found := strings.ToUpper(destructive.FindString(up)); found != drops[filepath.Base(f)] {
			t.Errorf("%s contains %q: drop it one release after the code that uses it, and list it in drops", filepath.Base(f), found)
		}
	}
	if !destructive.MatchString(`ALTER TABLE "users" DROP COLUMN "x"`) {
		t.Error("got no match for a dropped column")
	}
}
