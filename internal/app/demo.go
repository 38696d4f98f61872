package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/demo"
	"github.com/tandian-dev/tandian/internal/seeder"
)

// demoBalance is what demo logins may spend at first, in minor units.
const demoBalance = 100_000

// demoLogins are one account of each role, with phones of a country that does
// not exist.
func demoLogins() []account.DemoAccount {
	return []account.DemoAccount{
		{Phone: "+99900000001", Nickname: "Demo admin", Role: account.Admin},
		{Phone: "+99900000002", Nickname: "Demo merchant", Role: account.Merchant},
		{Phone: "+99900000003", Nickname: "Demo customer", Role: account.Customer},
	}
}

// settle gives the embedded installation its logins, and an empty one its demo
// town, which the merchant owns, with people who talk about it. The logins share a password, a new one at every
// start: what is printed here opens nothing elsewhere. A database that was
// embedded once and is served with a real Redis now loses them.
func (a *App) settle(ctx context.Context, components *Components) error {
	logins := demoLogins()
	if !a.cfg.Embedded() {
		if a.cfg.DatabaseURL != "" {
			return nil
		}
		var phones []account.Phone
		for _, l := range logins {
			phones = append(phones, l.Phone)
		}
		return components.Accounts.DisableDemoAccounts(ctx, phones...)
	}
	a.demoPassword = strings.ToLower(rand.Text()[:10])
	users, err := components.Accounts.EnsureDemoAccounts(ctx, a.demoPassword, logins...)
	if err != nil {
		return fmt.Errorf("demo logins: %w", err)
	}
	for i, u := range users {
		if logins[i].Role == account.Admin {
			continue
		}
		if err := components.Balances.Welcome(ctx, u.ID, demoBalance); err != nil {
			return fmt.Errorf("demo balance: %w", err)
		}
	}
	n, err := components.Shops.Count(ctx)
	if err != nil || n > 0 {
		return err
	}
	by := func(role account.Role) int64 {
		return users[slices.IndexFunc(logins, func(l account.DemoAccount) bool { return l.Role == role })].ID
	}
	return a.buildDemoTown(ctx, components, by(account.Merchant), by(account.Customer))
}

// buildDemoTown fills an empty installation. The merchant owns the shops, the customer
// follows some of the people.
func (a *App) buildDemoTown(ctx context.Context, components *Components, merchant, customer int64) error {
	begin := time.Now()
	services := components.SeedServices()
	if !a.cfg.DemoPictures {
		services.Pictures = nil
	}
	tally, err := demo.Load(ctx, services, merchant)
	if err != nil {
		return err
	}
	sold, err := components.Vouchers.BulkInsert(ctx, demo.Vouchers(begin))
	if err != nil {
		return fmt.Errorf("vouchers of the demo town: %w", err)
	}
	talk, err := demo.LoadActivity(ctx, services, customer, begin.In(components.zone))
	if err != nil {
		return err
	}
	a.log.InfoContext(ctx, "demo town built", "shops", tally.Added, "vouchers", sold.Added, "people", talk.People, "notes", talk.Notes,
		"likes", talk.Likes, "follows", talk.Follows, "comments", talk.Comments, "check_ins", talk.CheckIns, "visits", talk.Visits, "ms", time.Since(begin).Milliseconds())
	return nil
}

// shownLogins are the demo logins as people read them, or nothing.
func (a *App) shownLogins() string {
	if a.demoPassword == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nLogins to try, until the next start:\n\n")
	for _, l := range demoLogins() {
		fmt.Fprintf(&b, "  %-10s  phone %s  password %s\n", strings.ToLower(string(l.Role)), l.Phone.E164(), a.demoPassword)
	}
	return b.String()
}
