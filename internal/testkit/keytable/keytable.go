// Package keytable checks Redis keys against the table in docs/redis-keys.md. Each key that a server
// creates must match a row there, with its type and within its TTL and size. apptest and storetest
// check every Redis after a test, so every test of the server checks the table.
package keytable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// Limits of rows without an explicit bound.
const (
	maxText    = 16<<10 + 24 // bytes of a string: 16 KiB and a cache's header
	maxMembers = 5000        // of a collection, which may be read whole
)

// A Row is one key template of the table.
type Row struct {
	Template   string        // as in the table
	Type       string        // reply of TYPE
	Life       time.Duration // maximum TTL; redisdb.NoTTL for keys that do not expire
	MaxMembers int64         // for collections
	MaxText    int64         // bytes, for strings
	name       *regexp.Regexp
}

// A Table holds the rows of the table.
type Table []Row

// Read reads the table of this repository.
func Read(tb testing.TB) Table {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(tb), "docs/redis-keys.md"))
	if err != nil {
		tb.Fatal(err)
	}
	t, err := Parse(string(text))
	if err != nil {
		tb.Fatalf("parse the table of Redis keys in docs/redis-keys.md: %v", err)
	}
	return t
}

// Parse reads the first table after the heading "Redis keys". Its first four columns are:
//
//   - key: templates in backquotes, without the prefix; see placeholders
//   - type: begins with string, counter, hash, zset, set, list, stream, bitmap or HyperLogLog
//   - bound: "N KB" limits a string, "N members" or "N entries" a collection;
//     the default is 16 KB and 5 000 members
//   - lifetime: the longest time in the cell limits the TTL; "none" means that the
//     key does not expire, and requires one of the bounds above
func Parse(markdown string) (Table, error) {
	_, section, ok := strings.Cut("\n"+markdown, "\n# Redis keys\n")
	if !ok {
		return nil, errors.New(`missing heading "Redis keys"`)
	}
	var t Table
	begun := false
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "## ") || begun && !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if begun = begun || strings.HasPrefix(line, "|"); !begun || !strings.Contains(line, "`") {
			continue
		}
		if len(cells) < 6 {
			return nil, fmt.Errorf("row has %d columns, want at least 4: %s", len(cells)-2, line)
		}
		rows, err := parseRow(cells[1], cells[2], cells[3], cells[4])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(cells[1]), err)
		}
		t = append(t, rows...)
	}
	if len(t) == 0 {
		return nil, errors.New("missing rows")
	}
	return t, nil
}

var (
	quoted  = regexp.MustCompile("`([^`]+)`")
	bytesOf = regexp.MustCompile(`(\d+) KB`)
	countOf = regexp.MustCompile(`(\d[\d ]*) (?:members|entries)`)
	timeOf  = regexp.MustCompile(`(\d+(?:\.\d+)?) (s|min|h|days?)\b`)
)

func parseRow(keys, kind, bound, life string) (Table, error) {
	row := Row{MaxText: maxText, MaxMembers: maxMembers}
	var err error
	if row.Type, err = typeOf(kind); err != nil {
		return nil, err
	}
	bounded := false
	if m := bytesOf.FindStringSubmatch(bound); m != nil {
		row.MaxText, bounded = number(m[1])<<10+24, true
	}
	if m := countOf.FindStringSubmatch(bound); m != nil {
		row.MaxMembers, bounded = number(m[1]), true
	}
	if row.Life, err = lifeOf(life); err != nil {
		return nil, err
	}
	if row.Life == redisdb.NoTTL && !bounded {
		return nil, errors.New("a key without expiry requires a bound (N KB, N members, N entries)")
	}
	var t Table
	for _, m := range quoted.FindAllStringSubmatch(keys, -1) {
		row.Template = m[1]
		if row.name, err = pattern(m[1]); err != nil {
			return nil, err
		}
		t = append(t, row)
	}
	return t, nil
}

// typeOf returns the reply of TYPE for a type cell.
func typeOf(text string) (string, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.TrimRight(word, ",:")
	switch word {
	case "string", "counter", "counters", "bitmap", "HyperLogLog":
		return "string", nil
	case "hash", "zset", "set", "list", "stream":
		return word, nil
	}
	return "", fmt.Errorf("unknown type %q", word)
}

func lifeOf(text string) (longest time.Duration, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "none") {
		return redisdb.NoTTL, nil
	}
	units := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour}
	for _, m := range timeOf.FindAllStringSubmatch(text, -1) {
		var n float64
		if n, err = strconv.ParseFloat(m[1], 64); err != nil {
			return 0, fmt.Errorf("parse lifetime %q: %w", strings.TrimSpace(text), err)
		}
		longest = max(longest, time.Duration(n*float64(units[m[2]])))
	}
	if longest == 0 {
		return 0, fmt.Errorf("invalid lifetime %q: want a time or none", strings.TrimSpace(text))
	}
	return longest, nil
}

// number parses digits with spaces between the thousands.
func number(digits string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(digits, " ", ""), 10, 64) // the pattern matches only digits and spaces
	return n
}

// placeholders returns the placeholders of templates and their patterns. Any other word in capitals
// is an error in a template.
func placeholders() map[string]string {
	return map[string]string{
		"k":       `[^{}]+`,                // identifies a cached value
		"S":       `[A-Za-z0-9_-]{43}`,     // SHA-256 of a token
		"P":       `[A-Za-z0-9_-]{22}`,     // half a SHA-256, of a phone
		"A":       `[A-Za-z0-9_-]{22}`,     // half a SHA-256, of an address
		"D":       `[1-9][0-9]*`,           // known device
		"U":       `[1-9][0-9]*`,           // user
		"KIND":    `all|[1-9][0-9]*`,       // number of a shop type
		"NAME":    `[a-z][a-z0-9_-]*`,      // of a cache policy
		"TABLE":   `[a-z][a-z0-9_]*`,       // of the database
		"QUERY":   `[0-9a-f]{32}`,          // half a SHA-256, of a statement and its arguments
		"CELL":    `[0-9b-hjkmnp-z]{4,12}`, // geohash
		"pN":      `p[0-9]{1,2}`,           // partition of the sales
		"V":       `[1-9][0-9]*`,           // voucher
		"I":       `[0-9]{1,3}`,            // bucket of a sale's buyers
		"O":       `[1-9][0-9]*`,           // order
		"N":       `[1-9][0-9]*`,           // note
		"RANKING": `[A-Z_]+:\d+`,
		"LOCK":    `[a-z][a-z0-9:_-]*`,   // name of a lock
		"YYYYMM":  `[0-9]{6}`,            // month
		"SHOP":    `site|[1-9][0-9]*`,    // a shop, or the site
		"DAY":     `[0-9]{8}`,            // yyyymmdd
		"RANDOM":  `[A-Z2-7]{26}`,        // a random name
		"H":       `[A-Za-z0-9_-]{1,43}`, // digest of a client's request key
	}
}

var templateWord = regexp.MustCompile(`[A-Za-z]+(?:-[a-z]+)*|[^A-Za-z]`)

// pattern converts a template to a pattern for key names without the prefix.
func pattern(template string) (*regexp.Regexp, error) {
	var b strings.Builder
	inTag := false
	for _, word := range templateWord.FindAllString(template, -1) {
		text, ok := placeholders()[word]
		switch {
		case ok && (inTag || word != "k"):
			b.WriteString("(?:" + text + ")")
		case word != strings.ToLower(word) || inTag && word != "}":
			return nil, fmt.Errorf("unknown placeholder %q", word)
		default:
			b.WriteString(regexp.QuoteMeta(word))
		}
		inTag = word == "{" || inTag && word != "}"
	}
	return regexp.Compile("^" + b.String() + "$")
}

// Row returns the row of a key.
func (t Table) Row(prefix, key string) (Row, bool) {
	name, ok := strings.CutPrefix(key, prefix+":")
	for _, row := range t {
		if ok && row.name.MatchString(name) {
			return row, true
		}
	}
	return Row{}, false
}

// Violation describes how a key violates the table, or returns "".
func (t Table) Violation(prefix string, k redisdb.Key) string {
	row, ok := t.Row(prefix, k.Name)
	switch {
	case !ok:
		return "missing in the table of Redis keys in docs/redis-keys.md"
	case k.Type != row.Type:
		return fmt.Sprintf("got type %s, row %s wants %s", k.Type, row.Template, row.Type)
	case k.TTL == redisdb.NoTTL && row.Life != redisdb.NoTTL:
		return fmt.Sprintf("got no TTL, row %s wants at most %v", row.Template, row.Life)
	case k.TTL > row.Life && row.Life != redisdb.NoTTL:
		return fmt.Sprintf("got TTL %v, row %s wants at most %v", k.TTL, row.Template, row.Life)
	case k.Type == "string" && k.Members > row.MaxText:
		return fmt.Sprintf("got %d bytes, row %s wants at most %d", k.Members, row.Template, row.MaxText)
	case k.Type != "string" && k.Members > row.MaxMembers:
		return fmt.Sprintf("got %d members, row %s wants at most %d", k.Members, row.Template, row.MaxMembers)
	}
	return ""
}

// Scan checks every key of a Redis and returns one line per violation. It ignores keys that begin
// with "test:".
func (t Table) Scan(ctx context.Context, rdb redis.UniversalClient, prefix string) (wrong []string, err error) {
	err = redisdb.KeyScan{}.Each(ctx, rdb, func(k redisdb.Key) {
		if strings.HasPrefix(k.Name, "test:") {
			return
		}
		if why := t.Violation(prefix, k); why != "" {
			wrong = append(wrong, fmt.Sprintf("Redis key %s: %s", k.Name, why))
		}
	})
	return wrong, err
}

// Check scans a Redis and reports each violation as an error of the test. The timeout of the client
// should be [Patience]. If the test has ended its Redis, Check only logs that.
func Check(tb testing.TB, rdb redis.UniversalClient, prefix string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), time.Minute)
	defer cancel()
	ended := false
	waiting, stop := context.WithTimeout(ctx, Patience)
	defer stop()
	err := redisdb.Await(waiting, "Redis", rdb, func(err error) {
		if ended = isClosed(err); ended {
			stop()
		}
	})
	switch {
	case ended:
		tb.Logf("skip check of Redis keys: the test ended its Redis (%v)", err)
		return
	case err != nil:
		tb.Errorf("check Redis keys: %v", err)
		return
	}
	wrong, err := Read(tb).Scan(ctx, rdb, prefix)
	if err != nil {
		tb.Errorf("check Redis keys: %v", err)
	}
	for _, line := range wrong {
		tb.Error(line)
	}
}

// Patience is the timeout for clients of [Check]: other tests may keep the machine busy.
const Patience = 30 * time.Second

// isClosed reports whether err means that the Redis has ended.
func isClosed(err error) bool {
	for _, end := range []error{syscall.ECONNREFUSED, fs.ErrNotExist, net.ErrClosed, redis.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
