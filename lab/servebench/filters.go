package servebench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// FilterOptions configures [Filters]. Of the other options, it uses Command, Dir and Progress.
type FilterOptions struct {
	Options

	Shops int // number of shops
	Pages int // times that each page is read

	// Import stores drafts of shops in stores, which it migrates.
	Import func(ctx context.Context, databaseURL, redisURL string, drafts []shop.Draft) error
}

// A filtering is a filter and its name.
type filtering struct {
	name   string
	filter vars // nil for none
}

func filterings() []filtering {
	return []filtering{
		{"none", nil},
		{"openNow", vars{"openNow": true}},
		{"minScore 4", vars{"minScore": 4}},
		{"minScore 4.5", vars{"minScore": 4.5}},
		{"price 30 to 60", vars{"minPrice": 3000, "maxPrice": 6000}},
		{"price 200 to 300", vars{"minPrice": 20_000, "maxPrice": 30_000}},
		{"hasVoucher", vars{"hasVoucher": true}},
		{"hasFlashSale", vars{"hasFlashSale": true}},
		{"open, score 4, voucher", vars{"openNow": true, "minScore": 4, "hasVoucher": true}},
	}
}

// A listing is a sort order, with or without a place.
type listing struct {
	name, order string
	near        bool
}

func listings() []listing {
	return []listing{
		{"score", "SCORE", false},
		{"sold", "SOLD", false},
		{"newest", "NEWEST", false},
		{"near, distance", "DISTANCE", true},
		{"near, score", "SCORE", true},
	}
}

// The first town of sql/filters_shops.sql.
const townLat, townLng, townRadius = 30.2, 120.1, 5000

const (
	deepPage     = 5
	uncachedPage = 11              // behind the 200 shops of a cached list
	maxRatio     = 2               // the goal: times the page without filters
	pageWarmUp   = 5               // uncounted reads of a page
	pageBudget   = 6 * time.Second // a page is not read again after this time of reads
	minReads     = 7               // of a page, whatever they take
)

// A pageRead is a page that is measured.
type pageRead struct {
	filter  filtering
	page    int
	request request
	first   time.Duration // the first read, while its list is not cached
	took    harness.Samples
	spent   time.Duration
}

// Filters measures a page of 20 shops with each filter, in each order, relative to the same page
// without filters. One connection reads the pages of an order in turns, so that other load on
// the machine affects all of them. Filters prints a table.
//
// The server has its default settings, without the background jobs: the job shop.derived would
// remove the vouchers, which are only columns.
func Filters(ctx context.Context, o FilterOptions, out io.Writer) error {
	b := &bench{Options: o.Options}
	defer b.close()
	if err := b.openFilters(ctx, o); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "order\tfilter\tpage\tfirst ms\tp50 ms\tp95 ms\t÷ no filter\t÷ page %d\tgoal\tmet\treads\t\n", uncachedPage)
	for _, l := range listings() {
		fmt.Fprintf(b.Progress, "bench filters: %s\n", l.name)
		reads, err := b.readListing(ctx, l, o.Pages)
		if err != nil {
			return fmt.Errorf("order %s: %w", l.name, err)
		}
		writeReads(table, l, reads)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "Pages without place come from a cached list, with filters up to page 5, else up to page %d. The first read of page 1 fills it.\n", uncachedPage-1)
	return err
}

// openFilters starts stores with shops, and a server.
func (b *bench) openFilters(ctx context.Context, o FilterOptions) error {
	if err := b.startStores(ctx); err != nil {
		return err
	}
	if err := b.openStores(); err != nil {
		return err
	}
	if err := o.Import(ctx, b.DatabaseURL, b.RedisURL, hoursDrafts()); err != nil {
		return fmt.Errorf("store shops with hours: %w", err)
	}
	fmt.Fprintf(b.Progress, "bench filters: adding %d shops\n", o.Shops)
	if err := b.addShops(ctx, o.Shops); err != nil {
		return err
	}
	if err := testbed.Settle(ctx, b.db); err != nil {
		return err
	}
	var err error
	b.server, err = b.startBy(ctx, func() *exec.Cmd { return b.command("serve", "--run", "api") })
	return err
}

// hoursDrafts returns shops with 40 opening hours in three time zones. Other shops copy them.
func hoursDrafts() []shop.Draft {
	var drafts []shop.Draft
	for _, zone := range []string{"Asia/Shanghai", "Europe/Berlin", "America/New_York"} {
		for i := range 40 {
			opens, closes := 6+i%8, 17+i%10 // until after midnight
			hours := fmt.Sprintf("Mo-Su %02d:%02d-%02d:00", opens, i%2*30, closes%24)
			switch i % 5 {
			case 1:
				hours = fmt.Sprintf("Mo-Fr %02d:00-%02d:00; Sa %02d:00-14:00", opens, closes%24, opens)
			case 2:
				hours = fmt.Sprintf("Tu-Su %02d:00-14:00,17:00-%02d:00", opens, 20+i%4)
			case 3:
				hours = fmt.Sprintf("Mo-Sa %02d:00-%02d:00; PH off", opens, closes%24)
			}
			if i == 0 {
				hours = "24/7"
			}
			n := strconv.Itoa(len(drafts))
			drafts = append(drafts, shop.Draft{
				ExternalID: "hours:" + n, Type: shop.Catalogue()[0].Key, Name: "Hours" + n, Lat: 1, Lng: 1, OpenHours: hours, TimeZone: zone,
			})
		}
	}
	return drafts
}

// addShops adds shops to the rows.
func (b *bench) addShops(ctx context.Context, n int) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("add shops: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // or committed
	if _, err := tx.ExecContext(ctx, "SELECT setseed(0.5)"); err != nil {
		return fmt.Errorf("add shops: %w", err)
	}
	if _, err := tx.ExecContext(ctx, statement("filters_spread")); err != nil {
		return fmt.Errorf("add shops: %w", err)
	}
	if _, err := tx.ExecContext(ctx, statement("filters_shops"), n, townLat, townLng, time.Now().UnixMilli()); err != nil {
		return fmt.Errorf("add shops: %w", err)
	}
	return tx.Commit()
}

// readListing measures the pages of an order.
func (b *bench) readListing(ctx context.Context, l listing, times int) ([]*pageRead, error) {
	var reads []*pageRead
	for _, f := range filterings() {
		found, err := b.findPages(ctx, l, f)
		if err != nil {
			return nil, fmt.Errorf("filter %s: %w", f.name, err)
		}
		reads = append(reads, found...)
	}
	c := testbed.Conn{Addr: b.server.addr()}
	defer c.Close()
	for n := range pageWarmUp + times {
		for _, r := range reads {
			if r.spent > pageBudget && len(r.took) >= minReads {
				continue
			}
			begin := time.Now()
			answer, err := c.Ask(ctx, r.request.wire)
			took := time.Since(begin)
			if err != nil {
				return nil, err
			}
			if !r.request.right(answer) {
				return nil, fmt.Errorf("filter %s, page %d: unexpected answer %.300s", r.filter.name, r.page, answer)
			}
			if n >= pageWarmUp {
				r.took, r.spent = append(r.took, took), r.spent+took
			}
		}
	}
	return reads, ctx.Err()
}

// findPages returns the first page and page 5 of a list, as far as they are full. Without a
// filter it also returns page 11.
func (b *bench) findPages(ctx context.Context, l listing, f filtering) (reads []*pageRead, err error) {
	last := deepPage
	if f.filter == nil {
		last = uncachedPage
	}
	variables := vars{"filter": f.filter, "order": l.order}
	if l.near {
		variables["near"] = vars{"lat": townLat, "lng": townLng, "radius": townRadius}
	}
	for page := 1; page <= last; page++ {
		var list struct {
			Shops struct {
				Edges    []struct{ Node struct{ ID string } }
				PageInfo struct{ EndCursor string }
			}
		}
		begin := time.Now()
		if err := b.ask(ctx, visitor(page), document("filtered"), variables, &list); err != nil {
			return nil, err
		}
		first := time.Since(begin)
		if len(list.Shops.Edges) < 20 {
			break
		}
		if page == 1 || page == deepPage || page == uncachedPage {
			wire := wire(b.server, visitor(page), document("filtered"), variables)
			reads = append(reads, &pageRead{filter: f, page: page, first: first, request: request{wire: wire, want: []byte(list.Shops.Edges[19].Node.ID)}})
		}
		variables["after"] = list.Shops.PageInfo.EndCursor
	}
	if len(reads) == 0 && f.filter == nil {
		return nil, errors.New("there are too few shops")
	}
	return reads, nil
}

// visitor returns an anonymous person with an address.
func visitor(n int) person { return person{address: testbed.Address(n)} }

// writeReads writes the lines of an order.
func writeReads(table io.Writer, l listing, reads []*pageRead) {
	bare := map[int]time.Duration{} // medians without filters, by page
	for _, r := range reads {
		if r.filter.filter == nil {
			bare[r.page] = r.took.Percentile(50)
		}
	}
	for _, r := range reads {
		half := r.took.Percentile(50)
		same, uncached := ratioOf(half, bare[r.page]), ""
		if !l.near {
			uncached = ratioOf(half, bare[uncachedPage])
		}
		goal, met := "", ""
		if r.filter.filter != nil && bare[r.page] > 0 {
			goal, met = fmt.Sprintf("≤ %d", maxRatio), "yes"
			if half > maxRatio*bare[r.page] {
				met = "NO"
			}
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%.2f\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t%d\t\n", l.name, r.filter.name, r.page, harness.Millis(r.first),
			harness.Millis(half), harness.Millis(r.took.Percentile(95)), same, uncached, goal, met, len(r.took))
	}
}

func ratioOf(a, b time.Duration) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}
