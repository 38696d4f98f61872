package sqldb

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SQLDB_TEST_HOLD"); dir != "" {
		hold(dir)
	}
	goleak.VerifyTestMain(m)
}
