package account

import (
	"encoding/base64"
	"fmt"
	"sync"
	"testing"
	"time"

	entdevice "github.com/tandian-dev/tandian/ent/device"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// network returns the origin of an unknown client.
func network(i int) Origin { return Origin{Network: fmt.Sprintf("198.51.100.%d/32", i)} }

// cookies returns the origin of a client that stores device tokens.
func cookies(token string) Origin {
	return Origin{Network: "192.0.2.1/32", Device: token, Remembers: true}
}

// loginFrom logs in by code from a client, like a browser.
func (p process) loginFrom(t *testing.T, who Phone, at Origin) *Login {
	t.Helper()
	for _, id := range []int64{0, p.client(t.Context(), who, who, at).device.id} {
		p.rdb.Unlink(t.Context(), p.keys.codePause(who, id))
	}
	if _, err := p.SendCode(t.Context(), who.E164(), at); err != nil {
		t.Fatal(err)
	}
	code := p.outbox.last(t, who)
	in, err := p.Login(t.Context(), Credentials{Phone: who.E164(), Code: &code, From: at})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// another returns a code that differs from the given one.
func another(code string, i int) string {
	guess := fmt.Sprintf("%06d", i)
	if guess == code {
		return "999999"
	}
	return guess
}

func (p process) try(t *testing.T, who Phone, password string, at Origin) error {
	t.Helper()
	return errOf(p.Login(t.Context(), Credentials{Phone: who.E164(), Password: &password, From: at}))
}

// Six wrong passwords from six networks, then the right one from a seventh.
func TestWrongPasswordsElsewhereDoNotBlockOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			wantRefusal(t, p.try(t, ann, "wrong horse", network(i)), InvalidCredentials, "input.password")
		}
		if err := q.try(t, ann, "correct horse", network(7)); err != nil {
			t.Errorf("owner: %v", err)
		}
		// One network has five tries.
		for range 2 * passwordTries {
			wantRefusal(t, q.try(t, ann, "wrong horse", network(8)), InvalidCredentials, "input.password")
		}
		wantRefusal(t, q.try(t, ann, "correct horse", network(8)), InvalidCredentials, "input.password")
		if err := q.try(t, ann, "correct horse", network(9)); err != nil {
			t.Errorf("owner after that: %v", err)
		}
	})
}

func TestNetworksShareALooserPasswordLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		hashes := 0
		p.passwords.derive = func(password, _ []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
			hashes++
			return append(append([]byte{}, password...), make([]byte, 64)...)[:keyLen]
		}
		known := p.loginFrom(t, ann, cookies(""))
		if _, err := p.SetPassword(t.Context(), known.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		hashes = 0
		for i := range 2 * phoneTries {
			wantRefusal(t, p.try(t, ann, "wrong horse", network(i)), InvalidCredentials, "input.password")
		}
		if hashes != phoneTries {
			t.Errorf("got %d compared passwords, want %d", hashes, phoneTries)
		}
		wantRefusal(t, p.try(t, ann, "correct horse", network(200)), InvalidCredentials, "input.password")
		if err := p.try(t, ann, "correct horse", cookies(known.DeviceToken)); err != nil {
			t.Errorf("known device: %v", err)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.passwordTries(ann)).Val(); ttl > phoneTriesLife || ttl < phoneTriesLife-time.Minute {
			t.Errorf("got a lifetime of %v", ttl)
		}
	})
}

// A right password uncounts only its own try for the phone.
func TestRightPasswordResetsItsNetworkOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			wantRefusal(t, p.try(t, ann, "wrong horse", network(1)), InvalidCredentials, "input.password")
		}
		if err := p.try(t, ann, "correct horse", network(2)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct{ key, n string }{
			{p.keys.passwordTries(ann), "3"}, {p.keys.passwordNetwork(ann, "198.51.100.1/32"), "3"}, {p.keys.passwordNetwork(ann, "198.51.100.2/32"), ""},
		} {
			if n := p.rdb.Get(t.Context(), want.key).Val(); n != want.n {
				t.Errorf("%s: got %q, want %q", want.key, n, want.n)
			}
		}
	})
}

// Other networks request all codes of a day, then the owner's device requests one.
func TestKnownDevicesHaveTheirOwnCodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{CodesPerAddress: 2, LoginsPerAddress: 2}), open(t, on, Config{CodesPerAddress: 2, LoginsPerAddress: 2})
		known := p.loginFrom(t, ann, cookies(""))
		p.resetDay(t, ann)
		ask := func(at Origin) error {
			p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 0))
			return errOf(q.SendCode(t.Context(), ann.E164(), at))
		}
		for i := range codesInAll {
			if err := ask(network(i)); err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, ask(network(100)), CodeThrottled, "phone")
		owner := cookies(known.DeviceToken)
		for range 3 { // beyond the limits of its network too
			if err := p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 1)).Err(); err != nil {
				t.Fatal(err)
			}
			if err := ask(owner); err != nil {
				t.Fatalf("known device: %v", err)
			}
		}
		code := q.outbox.last(t, ann)
		// Codes and guesses of other clients do not affect the code of the device.
		for i := range 2 * codeTotal {
			guess := another(code, i)
			wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess, From: network(i)})), InvalidCode, "input.code")
		}
		wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code, From: network(101)})), InvalidCode, "input.code")
		in, err := q.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code, From: owner})
		if err != nil || in.User.ID != known.User.ID {
			t.Fatalf("owner's code: %v", err)
		}
		// It has ten codes a day and five guesses, like a network.
		owner.Device = in.DeviceToken
		for range codesPerDay - 3 {
			p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 1))
			if err := ask(owner); err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, ask(owner), CodeThrottled, "phone") // within a minute
		p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 1))
		wantRefusal(t, ask(owner), CodeThrottled, "phone")
		code = q.outbox.last(t, ann)
		for i := range codeTries {
			guess := another(code, i)
			wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess, From: owner})), InvalidCode, "input.code")
		}
		wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code, From: owner})), InvalidCode, "input.code")
	})
}

func TestOneNetworkCannotExhaustCodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		ask := func(at Origin) error {
			p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 0))
			return errOf(p.SendCode(t.Context(), ann.E164(), at))
		}
		for range codesPerDay {
			if err := ask(network(1)); err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, ask(network(1)), CodeThrottled, "phone")
		for i := range codesPerDay {
			if err := ask(Origin{Network: fmt.Sprintf("2001:db8:0:%x::/64", i)}); err != nil { // one site
				t.Fatal(err)
			}
		}
		p.resetDay(t, ann)
		wantRefusal(t, ask(Origin{Network: "2001:db8:0:ffff::/64"}), CodeThrottled, "phone")
		if err := ask(Origin{Network: "2001:db8:1::/64"}); err != nil {
			t.Errorf("another site: %v", err)
		}
	})
}

// Five guesses of a network must not invalidate a code that the owner just got.
func TestWrongGuessesOfOneNetworkKeepTheCode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		code := p.code(t, ann)
		var all sync.WaitGroup
		for i := range 4 * codeTries {
			all.Go(func() {
				guess := another(code, i)
				wantRefusal(t, errOf([]process{p, q}[i%2].Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess, From: network(1)})), InvalidCode, "input.code")
			})
		}
		all.Wait()
		wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code, From: network(1)})), InvalidCode, "input.code")
		if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code, From: network(2)}); err != nil {
			t.Errorf("the owner: %v", err)
		}
		compared := p.count(t, "tandian_logins_total", "code", "wrong") + q.count(t, "tandian_logins_total", "code", "wrong")
		if compared != codeTries {
			t.Errorf("got %v compared guesses, want %d", compared, codeTries)
		}
	})
}

func TestGuessesOfAllNetworksAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		wrongs := func() float64 { return p.count(t, "tandian_logins_total", "code", "wrong") }
		for round, want := range []float64{codeTotal, 2 * codeTotal, guessesADay, guessesADay} {
			code := p.code(t, ann)
			for i := range 2 * codeTotal {
				guess := another(code, i)
				wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess, From: network(i)})), InvalidCode, "input.code")
			}
			if n := wrongs(); n != want {
				t.Errorf("after code %d: got %v compared guesses, want %v", round+1, n, want)
			}
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.codeGuesses(ann)).Val(); ttl > day || ttl < day-time.Minute {
			t.Errorf("got a lifetime of %v, want a day", ttl)
		}
		// A right guess does not count.
		code := p.code(t, ben)
		if _, err := p.Login(t.Context(), Credentials{Phone: ben.E164(), Code: &code}); err != nil {
			t.Fatal(err)
		}
		if n := p.rdb.Get(t.Context(), p.keys.codeGuesses(ben)).Val(); n != "0" {
			t.Errorf("got %s guesses at the other phone's codes, want 0", n)
		}
	})
}

// The refusal must not reveal whether the phone has a code.
func TestWrongCodesHaveOneResponse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		guess := another(p.code(t, ann), 1)
		with := errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &guess}))
		without := errOf(p.Login(t.Context(), Credentials{Phone: ben.E164(), Code: &guess}))
		wantRefusal(t, with, InvalidCode, "input.code")
		if with.Error() != without.Error() {
			t.Errorf("got %q with a code, %q without one", with, without)
		}
	})
}

func TestDeviceTokenIsBoundToDeviceAndPhone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		known := func(who Phone, token string) bool {
			return q.client(t.Context(), who, who, Origin{Device: token}).device.id != 0
		}
		first := p.loginFrom(t, ann, cookies(""))
		if !known(ann, first.DeviceToken) {
			t.Fatal("the device is unknown")
		}
		if _, ok := p.devices.parse(ben, first.DeviceToken); ok || known(ben, first.DeviceToken) {
			t.Error("the token is valid for another phone")
		}
		raw, err := base64.RawURLEncoding.DecodeString(first.DeviceToken)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{7, 15, 16, len(raw) - 1} {
			forged := append([]byte{}, raw...)
			forged[i]++
			if known(ann, base64.RawURLEncoding.EncodeToString(forged)) {
				t.Errorf("the token is valid with byte %d changed", i)
			}
		}
		for _, token := range []string{"", "x", first.DeviceToken + "A", first.DeviceToken[1:]} {
			if known(ann, token) {
				t.Errorf("token %q is valid", token)
			}
		}
		// Each login rotates the token. The row stays.
		again := p.loginFrom(t, ann, cookies(first.DeviceToken))
		if known(ann, first.DeviceToken) || !known(ann, again.DeviceToken) {
			t.Error("the old token is valid, or the new one is not")
		}
		if n := p.db.Device.Query().CountX(t.Context()); n != 1 {
			t.Errorf("got %d devices, want 1", n)
		}
		// A client without cookies gets none.
		if in := p.login(t, ann); in.DeviceToken != "" {
			t.Error("a client without cookies got a token")
		}
		// The device expires after DeviceLife.
		later := func() time.Time { return time.Now().Add(DeviceLife + time.Hour) }
		q.devices.now = later
		if known(ann, again.DeviceToken) {
			t.Error("the device is known after DeviceLife")
		}
		if err := q.purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := p.db.Device.Query().CountX(t.Context()); n != 0 {
			t.Errorf("got %d devices, want 0", n)
		}
	})
}

func TestEndingSessionsRevokesTheirDevices(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		known := func(in *Login) bool {
			return p.client(t.Context(), ann, ann, Origin{Device: in.DeviceToken}).device.id != 0
		}
		owner := p.loginFrom(t, ann, cookies(""))
		stolen := func() *Login { p.resetDay(t, ann); return p.loginFrom(t, ann, cookies("")) }
		current := "correct horse"
		steps := []struct {
			name string
			end  func(other *Login) error
		}{
			{"setPassword", func(*Login) error {
				return errOf(p.SetPassword(t.Context(), owner.Viewer, p.passwordChange(t, ann, current)))
			}},
			{"endOtherSessions", func(*Login) error { return p.EndOtherSessions(t.Context(), owner.Viewer) }},
			{"endSession", func(other *Login) error {
				return errOf(p.EndSession(t.Context(), owner.Viewer, numberOf(other.Viewer.session)))
			}},
		}
		for _, step := range steps {
			other := stolen()
			if !known(other) {
				t.Fatal("the other device is unknown")
			}
			if err := step.end(other); err != nil {
				t.Fatal(err)
			}
			wantUser(t, other.Token, 0, p)
			if known(other) {
				t.Errorf("%s: the other device is still known", step.name)
			}
			wantUser(t, owner.Token, owner.User.ID, p)
			if !known(owner) {
				t.Errorf("%s: the own device is unknown", step.name)
			}
		}
		// A logout keeps the device, for the next login of the owner.
		if err := p.Logout(t.Context(), owner.Viewer); err != nil {
			t.Fatal(err)
		}
		if !known(owner) {
			t.Error("the device is unknown after a logout")
		}
	})
}

func TestUsersHaveAtMostTwentyDevices(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		at := time.Now()
		p.devices.now = func() time.Time { return at }
		var first *Login
		for i := range devicesPerUser + 2 {
			p.resetDay(t, ann)
			at = at.Add(time.Second)
			if in := p.loginFrom(t, ann, cookies("")); i == 0 {
				first = in
			}
		}
		rows := p.db.Device.Query().Order(entdevice.ByUsedAt()).AllX(t.Context())
		if len(rows) != devicesPerUser {
			t.Errorf("got %d devices, want %d", len(rows), devicesPerUser)
		}
		if p.client(t.Context(), ann, ann, Origin{Device: first.DeviceToken}).device.id != 0 {
			t.Error("the oldest device is known")
		}
	})
}

// Networks of one IPv6 site share a budget of ten networks.
func TestIPv6SitesShareALooserBudget(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{LoginsPerAddress: 2, CodesPerAddress: 2})
		guess, i := "000000", 0
		login := func(network string) error {
			i++
			return errOf(p.Login(t.Context(), Credentials{Phone: fmt.Sprintf("+8613911110%03d", i), Code: &guess, From: Origin{Network: network}}))
		}
		send := func(network string) error {
			i++
			return errOf(p.SendCode(t.Context(), fmt.Sprintf("+8613911110%03d", i), Origin{Network: network}))
		}
		site := func(site, n int) string { return fmt.Sprintf("2001:db8:%x:%x::/64", site, n) }
		for range 2 {
			wantRefusal(t, login(site(1, 0)), InvalidCode, "input.code")
			if err := send(site(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := login(site(1, 0)); apierror.KindOf(err) != apierror.RateLimited {
			t.Errorf("third try of a network: %v", err)
		}
		wantRefusal(t, send(site(1, 0)), CodeThrottled, "phone")
		for n := range 2*siteFactor - 2 {
			wantRefusal(t, login(site(1, n+1)), InvalidCode, "input.code")
			if err := send(site(1, n+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := login(site(1, 99)); apierror.KindOf(err) != apierror.RateLimited {
			t.Errorf("extra try of the site: %v", err)
		}
		wantRefusal(t, send(site(1, 99)), CodeThrottled, "phone")
		wantRefusal(t, login(site(2, 0)), InvalidCode, "input.code")
		if err := send(site(2, 0)); err != nil {
			t.Errorf("another site: %v", err)
		}
	})
}

func TestSitesOfNetworks(t *testing.T) {
	for network, want := range map[string]string{
		"192.0.2.1/32": "192.0.2.1/32", "2001:db8:1:2::/64": "2001:db8:1::/48", "2001:db8::/32": "2001:db8::/32", "": "", "x": "x",
	} {
		if got := siteOf(network); got != want {
			t.Errorf("site of %q: got %q, want %q", network, got, want)
		}
	}
}

func TestWrongCodesOfTheInstallationAreLimited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		const limit = 6
		p, q := open(t, on, Config{WrongCodesPerHour: limit}), open(t, on, Config{WrongCodesPerHour: limit})
		known := p.loginFrom(t, ann, cookies(""))
		guess := func(p process, who Phone, code string, at Origin) error {
			return errOf(p.Login(t.Context(), Credentials{Phone: who.E164(), Code: &code, From: at}))
		}
		wantRefusal(t, guess(p, ben, "000000", network(1)), InvalidCode, "input.code") // without a code, nothing is compared
		for i := range limit {
			who := Phone(fmt.Sprintf("+86139222200%02d", i))
			code := p.code(t, who)
			wantRefusal(t, guess([]process{p, q}[i%2], who, another(code, i), network(i)), InvalidCode, "input.code")
		}
		code := p.code(t, ben)
		for _, text := range []string{another(code, 1), code} {
			if err := guess(q, ben, text, network(50)); apierror.KindOf(err) != apierror.RateLimited {
				t.Errorf("beyond the limit: %v", err)
			}
		}
		if n := q.count(t, "tandian_login_guesses_refused_total"); n != 2 {
			t.Errorf("got %v counted rejections, want 2", n)
		}
		p.loginFrom(t, ann, cookies(known.DeviceToken)) // the limit does not bind a known device
		if ttl := p.rdb.PTTL(t.Context(), p.keys.guessHour()).Val(); ttl > time.Hour || ttl < time.Hour-time.Minute {
			t.Errorf("got a lifetime of %v, want an hour", ttl)
		}
		p.rdb.Unlink(t.Context(), p.keys.guessHour())
		if err := guess(q, ben, code, network(51)); err != nil {
			t.Errorf("in the next hour: %v", err)
		}
	})
}

// A rejected guess compares nothing, so it costs no try of the client or the phone.
func TestRejectedGuessesCostNoTries(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{WrongCodesPerHour: 1})
		guess := func(who Phone, code string) error {
			return errOf(p.Login(t.Context(), Credentials{Phone: who.E164(), Code: &code, From: network(1)}))
		}
		wantRefusal(t, guess(ann, another(p.code(t, ann), 1)), InvalidCode, "input.code")
		code := p.code(t, ben)
		for range codeTries + 1 {
			if err := guess(ben, code); apierror.KindOf(err) != apierror.RateLimited {
				t.Errorf("beyond the limit: %v", err)
			}
		}
		if n := p.rdb.Exists(t.Context(), p.keys.codeGuesses(ben)).Val(); n != 0 {
			t.Error("rejected guesses count for the phone")
		}
		p.rdb.Unlink(t.Context(), p.keys.guessHour())
		if err := guess(ben, code); err != nil {
			t.Errorf("in the next hour: %v", err)
		}
	})
}
