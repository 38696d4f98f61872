package cache

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDescribePrintsARecord(t *testing.T) {
	created := time.UnixMilli(1_800_000_000_123)
	tests := []struct {
		name    string
		header  header
		payload string
		want    string
	}{
		{"value", header{codecJSON, 0, 42, created, 90 * time.Second, 1234 * time.Microsecond, 5}, `{"id":1,"name":"铜钟"}`, `record   value
version  42
created  2027-01-15T08:00:00.123Z
soft     1m30s
delta    1.234ms
epoch    5
payload  24 bytes

{
  "id": 1,
  "name": "铜钟"
}
`},
		{"negative", header{flags: flagNegative, created: created}, "", `record   negative: the value does not exist
version  0
created  2027-01-15T08:00:00.123Z
soft     0s
delta    0s
epoch    0
payload  0 bytes
`},
		{"bare", header{flags: flagBare, created: created}, "", `record   bare: the value exists but is not stored
version  0
created  2027-01-15T08:00:00.123Z
soft     0s
delta    0s
epoch    0
payload  0 bytes
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Describe(append(test.header.appendTo(nil), test.payload...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestDescribeRejectsInvalidRecords(t *testing.T) {
	if got, err := Describe([]byte("a foreign string of more than 28 bytes")); !errors.Is(err, errRecord) || got != "" {
		t.Errorf("got %q, %v, want errRecord", got, err)
	}
	if got, err := Describe(append(header{}.appendTo(nil), `{"id":`...)); err == nil || errors.Is(err, errRecord) || got != "" {
		t.Errorf("got %q, %v, want a JSON error", got, err)
	}
}
