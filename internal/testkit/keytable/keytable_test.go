package keytable

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

const head = "# Redis keys\n\nWords.\n\n| key | type | bound | lifetime | from |\n|---|---|---|---|---|\n"

func TestParseRows(t *testing.T) {
	tests := []struct {
		name, row string
		want      Table
		err       string
	}{
		{
			"a string", "| `cache:NAME:{k}` | string: JSON | 16 KB | 30 min, or 1 h | x |",
			Table{{"cache:NAME:{k}", "string", time.Hour, 5000, 16<<10 + 24, nil}},
			"",
		},
		{
			"two keys", "| `a:{U}`, `b:{U}` | counters | 10 | 1 day | x |",
			Table{{"a:{U}", "string", 24 * time.Hour, 5000, 16<<10 + 24, nil}, {"b:{U}", "string", 24 * time.Hour, 5000, 16<<10 + 24, nil}},
			"",
		},
		{
			"a large set", "| `a` | zset (GEO) | 100 000 members, then split | 5 s | x |",
			Table{{"a", "zset", 5 * time.Second, 100_000, 16<<10 + 24, nil}},
			"",
		},
		{
			"a fraction of a second", "| `a` | string | one token | 3.3 s | x |",
			Table{{"a", "string", 3300 * time.Millisecond, 5000, 16<<10 + 24, nil}},
			"",
		},
		{
			"a stream without expiry", "| `bus` | stream | 1000 entries | none | x |",
			Table{{"bus", "stream", redisdb.NoTTL, 1000, 16<<10 + 24, nil}},
			"",
		},
		{"no expiry and no bound", "| `bus` | stream | some | none | x |", nil, "requires a bound"},
		{"no time", "| `a` | hash | one | a while | x |", nil, "invalid lifetime"},
		{"an unknown type", "| `a` | thing | one | 1 h | x |", nil, `unknown type "thing"`},
		{"an unknown placeholder", "| `a:{ORDER}` | hash | one | 1 h | x |", nil, `unknown placeholder "ORDER"`},
		{"an unknown lower-case placeholder", "| `a:{order}` | hash | one | 1 h | x |", nil, `unknown placeholder "order"`},
		{"too few columns", "| `a` | hash |", nil, "row has 2 columns"},
		{"no row", "", nil, "missing rows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(head + tt.row + "\n\n| `other` | table |\n")
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Row{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if _, err := Parse("# A\n"); err == nil {
		t.Error("a page without the section: got no error")
	}
}

func TestReadFindsTheRowsOfArchitecture(t *testing.T) {
	table := Read(t)
	if len(table) < 12 {
		t.Errorf("got %d rows", len(table))
	}
	s, p := strings.Repeat("s", 43), strings.Repeat("p", 22)
	for key, template := range map[string]string{
		"td:cache:shop-type:{7}":               "cache:NAME:{k}",
		"td:cache:shop:{7}:l":                  "cache:NAME:{k}:l",
		"td:session:{" + s + "}":               "session:{S}",
		"td:code-limit:{" + p + "}:pause":      "code-limit:{P}:pause",
		"td:shop:geo:all:{wtmk}":               "shop:geo:KIND:{CELL}",
		"td:shop:geo:12:{wtmk7}:b":             "shop:geo:KIND:{CELL}:b",
		"td:password-sets:{12}":                "password-sets:{U}",
		"td:session:{" + s + "}:x":             "",
		"td:session:" + s:                      "",
		"td:shop:geo:0:{wtmk}":                 "",
		"td:shop:geo:all:{wtma}":               "",
		"td:cache:Shop:{7}":                    "",
		"td:unknown-key":                       "",
		"cache:shop:{7}":                       "",
		"tdd:cache:shop:{7}":                   "",
		"td:code-limit:{" + p + "}:pause:more": "",
	} {
		if row, ok := table.Row("td", key); row.Template != template || ok != (template != "") {
			t.Errorf("%s: got row %q, want %q", key, row.Template, template)
		}
	}
}

func TestWrongReportsViolations(t *testing.T) {
	table, err := Parse(head + "| `text:{k}` | string | 1 KB | 1 min | x |\n| `list:{k}` | list | 3 members | 1 min | x |\n| `bus` | stream | 10 entries | none | x |\n")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		key  redisdb.Key
		want string // "" is valid
	}{
		{"valid", redisdb.Key{Name: "td:text:{1}", Type: "string", Members: 1048, TTL: time.Minute}, ""},
		{"allowed no expiry", redisdb.Key{Name: "td:bus", Type: "stream", Members: 10, TTL: redisdb.NoTTL}, ""},
		{"an expiry that is not required", redisdb.Key{Name: "td:bus", Type: "stream", Members: 10, TTL: time.Hour}, ""},
		{"unknown", redisdb.Key{Name: "td:other", Type: "string", TTL: time.Second}, "missing in the table"},
		{"another prefix", redisdb.Key{Name: "xx:text:{1}", Type: "string", TTL: time.Second}, "missing in the table"},
		{"another type", redisdb.Key{Name: "td:text:{1}", Type: "hash", TTL: time.Second}, "got type hash"},
		{"no expiry", redisdb.Key{Name: "td:text:{1}", Type: "string", TTL: redisdb.NoTTL}, "got no TTL"},
		{"a late expiry", redisdb.Key{Name: "td:text:{1}", Type: "string", TTL: time.Minute + time.Millisecond}, "got TTL 1m0.001s"},
		{"a long string", redisdb.Key{Name: "td:text:{1}", Type: "string", Members: 1049, TTL: time.Second}, "got 1049 bytes"},
		{"a long list", redisdb.Key{Name: "td:list:{1}", Type: "list", Members: 4, TTL: time.Second}, "got 4 members"},
		{"a long stream", redisdb.Key{Name: "td:bus", Type: "stream", Members: 11, TTL: redisdb.NoTTL}, "got 11 members"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := table.Violation("td", tt.key); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScanReportsEveryViolation(t *testing.T) {
	rdb, err := redisdb.OpenRedis(redisdb.RedisConfig{URL: testkit.Redis(t), Role: "state", Timeout: Patience}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	ctx := t.Context()
	for _, err := range []error{
		rdb.Set(ctx, "td:cache:shop:{1}", "good", time.Minute).Err(),
		rdb.Set(ctx, "test:mine", "good", 0).Err(),
		rdb.Set(ctx, "td:cache:shop:{2}", "endless", 0).Err(),
		rdb.Set(ctx, "td:cache:shop:{3}", strings.Repeat("x", maxText+1), time.Minute).Err(),
		rdb.Set(ctx, "td:cache:shop:{4}", "late", 24*time.Hour).Err(),
		rdb.Set(ctx, "td:unknown-key", "unknown", time.Minute).Err(),
		rdb.Set(ctx, "stray", "without a prefix", time.Minute).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := Read(t).Scan(ctx, rdb, "td")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(wrong, "\n")
	for _, want := range []string{
		"{2}: got no TTL", "{3}: got 16409 bytes", "{4}: got TTL 2", "td:unknown-key: missing in the table", "stray: missing in the table",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing line %q:\n%s", want, all)
		}
	}
	if len(wrong) != 5 {
		t.Errorf("got %d lines, want 5:\n%s", len(wrong), all)
	}
}
