package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/town"
)

// login is an account to try things with.
type login struct {
	role     account.Role
	phone    account.Phone
	nickname string
	password string
}

// demoLogins are one account of each role, with phones of a country that does
// not exist. They share a password, a new one at every start: what is printed
// here opens nothing elsewhere.
func demoLogins() []login {
	password := strings.ToLower(rand.Text()[:10])
	return []login{
		{role: account.Admin, phone: "+99900000001", nickname: "Demo admin", password: password},
		{role: account.Merchant, phone: "+99900000002", nickname: "Demo merchant", password: password},
		{role: account.Customer, phone: "+99900000003", nickname: "Demo customer", password: password},
	}
}

// settle gives the embedded installation its logins, and an empty one its demo
// town, which the merchant owns. A database that was embedded once and is served
// with a real Redis now loses the logins.
func (a *App) settle(ctx context.Context, house *House) error {
	if !a.cfg.Embedded() {
		if a.cfg.DatabaseURL != "" {
			return nil
		}
		var phones []account.Phone
		for _, l := range demoLogins() {
			phones = append(phones, l.phone)
		}
		return house.Accounts.Retire(ctx, phones...)
	}
	var merchant int64
	logins := demoLogins()
	for _, l := range logins {
		u, err := house.Accounts.Furnish(ctx, l.phone, l.nickname, l.role, l.password)
		if err != nil {
			return fmt.Errorf("demo logins: %w", err)
		}
		if l.role == account.Merchant {
			merchant = u.ID
		}
	}
	a.logins = logins
	n, err := house.Shops.Count(ctx)
	if err != nil || n > 0 {
		return err
	}
	begin := time.Now()
	drafts := town.Demo() //nolint:contextcheck // it reads a small file in memory
	for i := range drafts {
		drafts[i].OwnerID = merchant
	}
	tally, err := house.Shops.Upsert(ctx, drafts, func(int) {})
	if err != nil {
		return fmt.Errorf("demo town: %w", err)
	}
	a.log.InfoContext(ctx, "demo town built", "shops", tally.Added, "ms", time.Since(begin).Milliseconds())
	return nil
}

// shownLogins are the demo logins as people read them, or nothing.
func (a *App) shownLogins() string {
	if len(a.logins) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nLogins to try, until the next start:\n\n")
	for _, l := range a.logins {
		fmt.Fprintf(&b, "  %-10s  phone %s  password %s\n", strings.ToLower(string(l.role)), l.phone.E164(), l.password)
	}
	return b.String()
}
