package app_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

type draft = shop.Draft

// testFile writes a temporary file and returns its path.
func testFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// drafts returns shops within about 15 km, some of them at the same position.
func drafts(rnd *rand.Rand, from, to int) []draft {
	var list []draft
	for i := from; i < to; i++ {
		list = append(list, draft{
			ExternalID: fmt.Sprintf("paged:%d", i), Type: "cafe", Name: fmt.Sprintf("Paged %05d", i),
			Lat: 21 + float64(rnd.IntN(20)-10)*0.01, Lng: 105 + float64(rnd.IntN(20)-10)*0.01,
			Score: float64(rnd.IntN(4)),
		})
	}
	return list
}

func upsert(t *testing.T, s *apptest.Server, list []draft) {
	t.Helper()
	if _, err := s.Components().Shops.Upsert(t.Context(), list, func(int) {}); err != nil {
		t.Error(err)
	}
}

// awaitIdle waits until idle servers send no more statements. Then their caches are warm, the
// existence filters are built, and a loss of Redis is repaired.
func awaitIdle(t *testing.T, servers ...*apptest.Server) {
	t.Helper()
	last, since := -1.0, time.Now()
	testkit.Eventually(t, 20*time.Second, func() bool {
		n := 0.0
		for _, s := range servers {
			n += s.Counter(t, "tandian_sql_statement_seconds")
		}
		if n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 1300*time.Millisecond // filters are maintained each second
	})
}

// warnings returns the warnings of a server so far.
func warnings(t *testing.T, s *apptest.Server) (all string) {
	t.Helper()
	for _, line := range s.Log.Lines(t) {
		if line["level"] == "WARN" {
			all += line["msg"].(string)
		}
	}
	return all
}

const createShop = `mutation C($input: CreateShopInput!) { createShop(input: $input) { shop { id name } userErrors { code message field } } }`

// shopInput returns a valid createShop input with the given changes.
func shopInput(changes map[string]any) map[string]any {
	input := map[string]any{"name": "A new shop", "typeId": "U2hvcFR5cGU6MQ", "address": "1 Street", "location": map[string]any{"lat": 10.5, "lng": 20.5}}
	maps.Copy(input, changes)
	return input
}

// waitForLogReader waits until exactly one of the servers reads the database log. A server
// registers the metric only after a check in the background, so a missing metric counts as 0.
func waitForLogReader(t *testing.T, within time.Duration, servers ...*apptest.Server) {
	t.Helper()
	testkit.Eventually(t, within, func() bool {
		readers := 0.0
		for _, s := range servers {
			n, _ := s.Metric(t, "tandian_log_reader_active")
			readers += n
		}
		return readers == 1
	})
}
