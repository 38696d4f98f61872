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
)

// demoBalance is the initial balance of demo logins, in minor units.
const demoBalance = 100_000

// demoLogins returns one account of each role, with phones of a country that does not
// exist.
func demoLogins() []account.DemoAccount {
	return []account.DemoAccount{
		{Phone: "+99900000001", Nickname: "Demo admin", Role: account.Admin},
		{Phone: "+99900000002", Nickname: "Demo merchant", Role: account.Merchant},
		{Phone: "+99900000003", Nickname: "Demo customer", Role: account.Customer},
	}
}

// prepareDemo creates the demo logins of an embedded installation, and the demo town of an
// empty one. The logins share a password that changes at every start. With an embedded
// database and a real Redis, it disables logins of an earlier start.
func (a *App) prepareDemo(ctx context.Context, components *Components) error {
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
		return fmt.Errorf("create demo logins: %w", err)
	}
	for i, u := range users {
		if logins[i].Role == account.Admin {
			continue
		}
		if err := components.Balances.AddDemoBalance(ctx, u.ID, demoBalance); err != nil {
			return fmt.Errorf("set the balance of demo logins: %w", err)
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

// buildDemoTown fills an empty installation. The merchant owns the shops, and the customer
// follows some of the users.
func (a *App) buildDemoTown(ctx context.Context, components *Components, merchant, customer int64) error {
	begin := time.Now()
	services := components.SeedServices()
	if !a.cfg.DemoPictures {
		services.Pictures = nil
	}
	shops, err := demo.Load(ctx, services, merchant)
	if err != nil {
		return err
	}
	vouchers, err := components.Vouchers.BulkInsert(ctx, demo.Vouchers(begin))
	if err != nil {
		return fmt.Errorf("insert demo vouchers: %w", err)
	}
	activity, err := demo.LoadActivity(ctx, services, customer, begin.In(components.zone))
	if err != nil {
		return err
	}
	a.log.InfoContext(ctx, "demo town built", "shops", shops.Added, "vouchers", vouchers.Added, "people", activity.People, "notes", activity.Notes,
		"likes", activity.Likes, "follows", activity.Follows, "comments", activity.Comments,
		"ratings", activity.Ratings, "saves", activity.Saves, "check_ins", activity.CheckIns, "visits", activity.Visits, "ms", time.Since(begin).Milliseconds())
	return nil
}

// loginsText returns the demo logins for the terminal, or "" without them.
func (a *App) loginsText() string {
	if a.demoPassword == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nDemo logins, valid until the next start:\n\n")
	for _, l := range demoLogins() {
		fmt.Fprintf(&b, "  %-10s  phone %s  password %s\n", strings.ToLower(string(l.Role)), l.Phone.E164(), a.demoPassword)
	}
	return b.String()
}
