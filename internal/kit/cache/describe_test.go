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
		{"a value", header{codecJSON, 0, 42, created, 90 * time.Second, 1234 * time.Microsecond, 5}, `{"id":1,"name":"铜钟"}`, `record   value
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
		{"a negative one", header{flags: flagNegative, created: created}, "", `record   negative: there is no such value
version  0
created  2027-01-15T08:00:00.123Z
soft     0s
delta    0s
epoch    0
payload  0 bytes
`},
		{"a bare one", header{flags: flagBare, created: created}, "", `record   bare: there is a value, and it is not kept
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
	if got, err := Describe([]byte("a string of somebody else, of more than 24 bytes")); !errors.Is(err, errRecord) || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Describe(append(header{}.appendTo(nil), `{"id":`...)); err == nil || errors.Is(err, errRecord) || got != "" {
		t.Errorf("%q, %v: want an error about its JSON", got, err)
	}
}
