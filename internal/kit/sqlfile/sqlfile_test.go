package sqlfile

import "testing"

func TestAStatementBeginsWithItsVerb(t *testing.T) {
	const file = "-- add: insert a job.\n--\n-- $1  topic\nINSERT INTO jobs\n  -- indented, it stays\nVALUES ($1)\n"
	if got, want := Statement(file), "INSERT INTO jobs\n  -- indented, it stays\nVALUES ($1)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
