package sqldb

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestStatementBeginsWithItsVerb(t *testing.T) {
	const file = "-- add: insert a job.\n--\n-- $1  topic\nINSERT INTO jobs\n  -- indented, it stays\nVALUES ($1)\n"
	if got, want := Statement(file), "INSERT INTO jobs\n  -- indented, it stays\nVALUES ($1)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadSelectsTheDialect(t *testing.T) {
	files := fstest.MapFS{
		"sql/add.postgres.sql": {Data: []byte("-- add\nINSERT 1")},
		"sql/add.sqlite.sql":   {Data: []byte("-- add\nINSERT 2")},
		"sql/drop.sql":         {Data: []byte("-- drop\nDELETE")},
	}
	for dialect, want := range map[string]string{"postgres": "INSERT 1", "sqlite3": "INSERT 2"} {
		var add, drop string
		if err := ReadStatements(files, dialect, map[string]*string{"add": &add, "drop": &drop}); err != nil || add != want || drop != "DELETE" {
			t.Errorf("%s: %q, %q, %v", dialect, add, drop, err)
		}
	}
	var text string
	if err := ReadStatements(files, "postgres", map[string]*string{"keep": &text}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if err := ReadStatements(files, "mysql", map[string]*string{"drop": &text}); err == nil {
		t.Error("unknown dialect: got no error")
	}
}
