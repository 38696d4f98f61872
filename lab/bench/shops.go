// Package bench measures publishing, feeds, visits and shop queries of a whole server, and the
// deletion of large keys in Redis.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/page"
)

const (
	warmUp  = 10 // uncounted requests of each kind
	counted = 60 // counted requests of each kind
)

// Shops queries the server at base for shops around the shop with the best score, one request after
// the other, in all ways that clients use. It writes a table to out: the median and the 95th percentile
// of each query, and the median relative to GET /healthz in the same run.
func Shops(ctx context.Context, base string, out io.Writer) error {
	b := &shopBench{base: base}
	place, err := b.place(ctx)
	if err != nil {
		return err
	}
	bare, err := b.time(ctx, http.MethodGet, "/healthz", nil)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "what\tp50 ms\tp95 ms\t× bare\tshops\t\n")
	_, _ = fmt.Fprintf(table, "GET /healthz\t%.2f\t%.2f\t1.0\t\t\n", millis(bare.p50), millis(bare.p95))
	for _, q := range queries(place) {
		body, err := json.Marshal(map[string]string{"query": q.text})
		if err != nil {
			return fmt.Errorf("encode query %q: %w", q.name, err)
		}
		got, err := b.time(ctx, http.MethodPost, "/graphql", body)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		_, _ = fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.1f\t%d\t\n", q.name, millis(got.p50), millis(got.p95),
			float64(got.p50)/float64(bare.p50), bytes.Count(got.answer, []byte(`"node"`)))
	}
	return table.Flush()
}

type query struct{ name, text string }

// queries returns the measured queries; place is "lat: …, lng: …".
func queries(place string) []query {
	shops := func(arguments string) string {
		return "{ shops(first: 20, " + arguments + ") { edges { cursor distance node { name score } } pageInfo { endCursor } } }"
	}
	list := []query{
		{"all, by score", shops("orderBy: SCORE")},
		{"all, newest", shops("orderBy: NEWEST")},
		{"near, 1 km", shops("near: {" + place + ", radius: 1000}")},
		{"near, 50 km", shops("near: {" + place + ", radius: 50000}")},
		{"near, 50 km of sea", shops("near: {lat: 10, lng: -150, radius: 50000}")},
		{"near, 50 km, 40 km deep", shops("near: {" + place + `, radius: 50000}, after: "` + behind(40_000) + `"`)},
		{"near, 50 km, 5 km deep", shops("near: {" + place + `, radius: 50000}, after: "` + behind(5_000) + `"`)},
		{"nearest 1000, by score", shops("orderBy: SCORE, near: {" + place + ", radius: 50000}")},
	}
	for _, word := range []string{"火锅", "红", "e", "coffee", "Rainy Day Fried", "237号", "zzzz", "龘"} {
		filter := `filter: {search: "` + word + `"}`
		list = append(list,
			query{"search " + word, shops(filter)},
			query{"search " + word + ", 50 km", shops(filter + ", near: {" + place + ", radius: 50000}")})
	}
	return list
}

// behind returns a cursor of a list by distance, at the given metres from its centre.
func behind(metres float64) string { return string(page.Encode("DISTANCE", metres, 1)) }

// shopBench is one run against one server.
type shopBench struct{ base string }

// place returns the location of the shop with the best score, most likely in a town.
func (b *shopBench) place(ctx context.Context) (string, error) {
	body := []byte(`{"query":"{ shops(first: 1, orderBy: SCORE) { edges { node { location { lat lng } } } } }"}`)
	answer, err := b.ask(ctx, http.MethodPost, "/graphql", body)
	if err != nil {
		return "", err
	}
	var found struct {
		Data struct {
			Shops struct {
				Edges []struct {
					Node struct{ Location struct{ Lat, Lng float64 } }
				}
			}
		}
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return "", fmt.Errorf("find shop: %w", err)
	}
	if len(found.Data.Shops.Edges) == 0 {
		return "", errors.New("no shops in the database: run `tandian seed` first")
	}
	at := found.Data.Shops.Edges[0].Node.Location
	return fmt.Sprintf("lat: %v, lng: %v", at.Lat, at.Lng), nil
}

// timing holds the durations of one kind of request.
type timing struct {
	p50, p95 time.Duration
	answer   []byte
}

func (b *shopBench) time(ctx context.Context, method, path string, body []byte) (timing, error) {
	var t timing
	took := make([]time.Duration, 0, counted)
	for i := range warmUp + counted {
		begin := time.Now()
		answer, err := b.ask(ctx, method, path, body)
		if err != nil {
			return t, err
		}
		if i >= warmUp {
			took = append(took, time.Since(begin))
		}
		t.answer = answer
	}
	slices.Sort(took)
	t.p50, t.p95 = took[len(took)/2], took[len(took)*95/100]
	return t, nil
}

// ask sends one request and returns the response. A response with GraphQL errors is an error.
func (b *shopBench) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("send request: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if res.StatusCode != http.StatusOK || strings.HasPrefix(string(answer), `{"errors"`) {
		return nil, fmt.Errorf("server returned status %d: %.200s", res.StatusCode, answer)
	}
	return answer, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
