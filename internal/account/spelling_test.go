package account

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestOnlyTheDigitsOfACodeCount(t *testing.T) {
	tests := []struct {
		name  string
		write func(code string) string
	}{
		{"a space in the middle", func(c string) string { return c[:3] + " " + c[3:] }},
		{"spaces around", func(c string) string { return "\t" + c + " \n" }},
		{"a dash", func(c string) string { return c[:3] + "\u2011" + c[3:] }},
		{"a no-break space", func(c string) string { return c[:2] + "\u00a0" + c[2:] }},
		{"marks of direction", func(c string) string { return "\u200e\u2068" + c + "\u2069" }},
		{"zero-width spaces", func(c string) string { return strings.Join(strings.Split(c, ""), "\u200b") }},
		{"a byte order mark", func(c string) string { return "\ufeff" + c }},
		{"full-width", shifted('０')},
		{"Arabic", shifted('٠')},
		{"Devanagari", shifted('०')},
		{"bold", shifted('𝟎')},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		for _, tt := range tests {
			p.resetDay(t, ann)
			code := tt.write(p.code(t, ann))
			if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code}); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	})
}

// shifted returns a function that writes a code in the digits that begin with zero.
func shifted(zero rune) func(string) string {
	return func(code string) string {
		return strings.Map(func(r rune) rune { return zero + r - '0' }, code)
	}
}

func TestInvalidCodesCostNoTry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		code := p.code(t, ann)
		for _, text := range []string{"", "12345", "1234567", "12345a", "G-123456", code + "0", "a" + code, strings.Repeat(" ", 300) + code, "123\x00456"} {
			_, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &text})
			wantRefusal(t, err, InvalidCode, "input.code")
		}
		_, err := p.Login(t.Context(), Credentials{Phone: "12", Code: &code})
		wantRefusal(t, err, InvalidPhone, "input.phone")
		in, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &code})
		if err != nil {
			t.Fatalf("login by code: %v", err)
		}
		text := "12345"
		_, err = p.SetPassword(t.Context(), in.Viewer, PasswordChange{Password: "correct horse", Code: &text})
		wantRefusal(t, err, InvalidCode, "code")
		if invalid, wrong := p.count(t, "tandian_logins_total", "code", "invalid"), p.count(t, "tandian_logins_total", "code", "wrong"); invalid != 11 || wrong != 0 {
			t.Errorf("got %v invalid and %v wrong attempts, want 11 and 0", invalid, wrong)
		}
	})
}

// The metric counts the guesses of all mutations.
func TestGuessesBySetPasswordAreCounted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		code := p.code(t, ann)
		guess := another(code, 1)
		_, err := p.SetPassword(t.Context(), in.Viewer, PasswordChange{Password: "correct horse", Code: &guess})
		wantRefusal(t, err, InvalidCode, "code")
		if _, err := p.SetPassword(t.Context(), in.Viewer, PasswordChange{Password: "correct horse", Code: &code}); err != nil {
			t.Fatal(err)
		}
		_, err = p.SetPassword(t.Context(), in.Viewer, PasswordChange{Password: "correct horse 2", Current: &guess})
		wantRefusal(t, err, InvalidCredentials, "currentPassword")
		got := map[string]float64{"wrong code": p.count(t, "tandian_logins_total", "code", "wrong"), "wrong password": p.count(t, "tandian_logins_total", "password", "wrong"), "login": p.count(t, "tandian_logins_total", "code", "ok")}
		if d := cmp.Diff(map[string]float64{"wrong code": 1, "wrong password": 1, "login": 1}, got); d != "" {
			t.Errorf("attempts (-want +got):\n%s", d)
		}
	})
}

func TestAllSpellingsOfAPhoneAreOneAccount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		for want, spellings := range map[Phone][]string{
			"+447911123456":  {"+44 7911 123456", "+44 (0)7911 123456", "+4407911123456", "0044 7911 123456", "tel:+44-7911-123456"},
			"+525512345678":  {"+52 1 55 1234 5678", "+52 55 1234 5678"},
			"+5491123456789": {"+54 11 2345 6789", "+54 9 11 2345 6789", "+54 011 15 2345 6789"},
			"+8613812345678": {"13812345678", "\u202a+8613812345678\u202c", "+86 0138 1234 5678", "１３８１２３４５６７８"},
		} {
			var users []int64
			for i, s := range spellings {
				if i > 0 {
					wantRefusal(t, errOf(p.SendCode(t.Context(), s, Origin{})), CodeThrottled, "phone") // the limits apply to the phone
				}
				p.rdb.Unlink(t.Context(), p.keys.codePause(want, 0))
				if _, err := p.SendCode(t.Context(), s, Origin{}); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
				code := p.outbox.last(t, want)
				in, err := p.Login(t.Context(), Credentials{Phone: spellings[len(spellings)-1-i], Code: &code})
				if err != nil {
					t.Fatalf("%s: %v", s, err)
				}
				users = append(users, in.User.ID)
			}
			if n := len(slices.Compact(users)); n != 1 {
				t.Errorf("%v: got %d users, want 1", spellings, n)
			}
		}
	})
}

// insertLegacy inserts an account like an earlier version.
func (p process) insertLegacy(t *testing.T, phone Phone) int64 {
	t.Helper()
	id, err := p.db.User.Create().SetPhone(phone.E164()).SetNickname("old").OnConflictColumns(entuser.FieldPhone).DoNothing().ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// loginAs logs in by code with a spelling of a phone and returns the user.
func (p process) loginAs(t *testing.T, spelling string) int64 {
	t.Helper()
	phone, err := ParsePhone(spelling)
	if err != nil {
		t.Fatalf("%s: %v", spelling, err)
	}
	code := p.code(t, phone)
	in, err := p.Login(t.Context(), Credentials{Phone: spelling, Code: &code})
	if err != nil {
		t.Fatalf("%s: %v", spelling, err)
	}
	return in.User.ID
}

func TestOldAccountsAreFoundByEverySpelling(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		for stored, spellings := range map[Phone][]string{
			"+4407911123456":   {"+44 7911 123456", "+44 (0)7911 123456", "+44 07911123456"},
			"+5215512345678":   {"+52 55 1234 5678", "+52 1 55 1234 5678", "+52 044 55 1234 5678"},
			"+541123456789":    {"+54 9 11 2345 6789", "+54 11 2345 6789", "+54 11 15 2345 6789"},
			"+5491187654321":   {"+54 11 8765 4321", "+54 9 11 8765 4321"},
			"+789123456789":    {"+7 912 345 67 89", "+7 8 912 345 67 89"},
			"+8613900000042":   {"139 0000 0042", "+86 0139 0000 0042"},
			"+86013900000043":  {"139 0000 0043"},
			"+490017612345678": {"+49 00 176 12345678"}, // only its own unusual spelling
		} {
			want := p.insertLegacy(t, stored)
			for _, s := range spellings {
				if got := p.loginAs(t, s); got != want {
					t.Errorf("%s: got user %d, want %d, stored as %s", s, got, want, stored.E164())
				}
			}
		}
	})
}

func TestTheExactSpellingWinsOverOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		zero, plain := p.insertLegacy(t, "+4407911123456"), p.insertLegacy(t, "+447911123456")
		one, lada := p.insertLegacy(t, "+5215512345678"), p.insertLegacy(t, "+520445512345678")
		for s, want := range map[string]int64{
			"+44 (0)7911 123456": zero, "+44 7911 123456": plain, "0044 7911 123456": plain, "+44 00 7911 123456": plain,
			"+52 1 55 1234 5678": one, "+52 044 55 1234 5678": lada, "+52 55 1234 5678": min(one, lada),
		} {
			for range 2 {
				if got := p.loginAs(t, s); got != want {
					t.Errorf("%s: got user %d, want %d", s, got, want)
				}
			}
		}
	})
}

// An invalid number gets no code, but its account can use the password.
func TestPasswordsOpenOldAccountsOfInvalidPhones(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		hash, err := p.passwords.hash(t.Context(), "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		id := p.insertLegacy(t, "+999123456789")
		if err := p.db.User.UpdateOneID(id).SetPasswordHash(hash).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		const number, other = "+999 123 456 789", "+999 123 456 780"
		right, wrong, code := "correct horse", "wrong horse", "123456"
		in, err := p.Login(t.Context(), Credentials{Phone: number, Password: &right})
		if err != nil || in.User.ID != id {
			t.Errorf("right password: %v", err)
		}
		for name, c := range map[string]Credentials{"a wrong password": {Phone: number, Password: &wrong}, "no account": {Phone: other, Password: &right}} {
			_, err := p.Login(t.Context(), c)
			if r, ok := errors.AsType[apierror.UserErrors](err); !ok || r[0].Code != InvalidCredentials {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err = p.Login(t.Context(), Credentials{Phone: number, Code: &code})
		wantRefusal(t, err, InvalidPhone, "input.phone")
		wantRefusal(t, errOf(p.SendCode(t.Context(), number, Origin{})), InvalidPhone, "phone")
		if n := p.db.User.Query().Where(entuser.PhoneNotNil()).CountX(t.Context()); n != 1 {
			t.Errorf("got %d accounts", n)
		}
	})
}

func TestDemoPhonesGetCodesIfEnabled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		const demo Phone = "+99900000001"
		p, q := open(t, on, Config{DemoPhones: true}), open(t, on, Config{})
		wantRefusal(t, errOf(q.SendCode(t.Context(), demo.E164(), Origin{})), InvalidPhone, "phone")
		p.login(t, demo)
	})
}

func TestCodesGoToAllowedCountriesOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{CodeCountries: []string{"86", "44"}, CodesPerHour: 3, CodesPerAddress: 3})
		p.login(t, "+447911123456")
		p.insertLegacy(t, "+979500000001") // an account makes no difference
		for _, to := range []string{"+979 123 456 789", "+979 500 000 001", "+1 202 555 0123", "+86 ", "+861", "+852 5123 4567"} {
			for range 5 {
				wantRefusal(t, errOf(p.SendCode(t.Context(), to, Origin{Network: "192.0.2.1/32"})), InvalidPhone, "phone")
			}
		}
		for _, to := range []string{"138 1234 5678", "+44 (0)7911 123457"} { // rejected requests did not count
			if _, err := p.SendCode(t.Context(), to, Origin{Network: "192.0.2.1/32"}); err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
		wantRefusal(t, errOf(p.SendCode(t.Context(), "138 1234 5679", Origin{})), CodeThrottled, "phone") // the fourth code of the hour
		if n := p.count(t, "tandian_login_code_refusals_total", "country"); n != 5*4 {
			t.Errorf("got %v rejections by country, want 20", n)
		}
		if n := p.count(t, "tandian_login_codes_sent_total", "44"); n != 2 {
			t.Errorf("got %v codes to +44, want 2", n)
		}
	})
}

// Concurrent requests in two processes get exactly the codes of the hourly limit.
func TestCodesOfTheInstallationAreLimited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		const limit, asking = 10, 40
		cfg := Config{CodesPerHour: limit, CodesPerAddress: 100}
		processes := []process{open(t, on, cfg), open(t, on, cfg)}
		p := processes[0]
		old := p.code(t, ann)
		wantRefusal(t, errOf(p.SendCode(t.Context(), ann.E164(), Origin{})), CodeThrottled, "phone") // does not count
		wantRefusal(t, errOf(p.SendCode(t.Context(), "+210 123 456 789", Origin{})), InvalidPhone, "phone")
		p.outbox.fail = fmt.Errorf("no network: %w", ErrNotSent)
		if _, err := p.SendCode(t.Context(), ben.E164(), Origin{}); apierror.KindOf(err) != apierror.Unavailable {
			t.Errorf("got %v", err)
		}
		p.outbox.fail = nil
		var all sync.WaitGroup
		errs := make([]error, asking)
		for i := range asking {
			all.Go(func() {
				to := fmt.Sprintf("+86139222200%02d", i/2)                                           // two requests per phone
				for again := true; again; again = apierror.KindOf(errs[i]) == apierror.Unavailable { // on a busy machine
					_, errs[i] = processes[i%2].SendCode(t.Context(), to, Origin{Network: "192.0.2.1/32"})
				}
			})
		}
		all.Wait()
		sent := 0
		for _, err := range errs {
			if err == nil {
				sent++
				continue
			}
			wantRefusal(t, err, CodeThrottled, "phone")
		}
		if sent != limit-1 { // one was sent before
			t.Errorf("got %d codes, want %d", sent, limit-1)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.keys.codeHour()).Val(); ttl > time.Hour || ttl < time.Hour-time.Minute {
			t.Errorf("got a lifetime of %v, want an hour", ttl)
		}

		// A rejection costs nothing: the previous code and the limits of phone and address remain.
		p.rdb.Unlink(t.Context(), p.keys.codePause(ann, 0))
		wantRefusal(t, errOf(p.SendCode(t.Context(), ann.E164(), Origin{Network: "192.0.2.9/32"})), CodeThrottled, "phone")
		if n := p.rdb.Exists(t.Context(), p.keys.codePause(ann, 0)).Val(); n != 0 {
			t.Error("the phone must wait")
		}
		if n := p.rdb.Get(t.Context(), p.keys.codeDay(ann, 0)).Val(); n != "1" {
			t.Errorf("got %s codes of the day, want 1", n)
		}
		if n := p.rdb.Get(t.Context(), p.keys.codeAddress("192.0.2.9/32", "")).Val(); n != "0" {
			t.Errorf("got %s codes of the address, want 0", n)
		}
		if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Code: &old}); err != nil {
			t.Errorf("previous code: %v", err)
		}
		p.rdb.Unlink(t.Context(), p.keys.codeHour())
		if _, err := p.SendCode(t.Context(), ann.E164(), Origin{}); err != nil {
			t.Errorf("in the next hour: %v", err)
		}
	})
}

func TestCheckPhonesRewritesUnsharedOnes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		zero, plain := p.insertLegacy(t, "+4407911123456"), p.insertLegacy(t, "+447911123456")
		one, lada := p.insertLegacy(t, "+5215512345678"), p.insertLegacy(t, "+520445512345678")
		alone, right, invalid := p.insertLegacy(t, "+330612345678"), p.insertLegacy(t, "+8613900000001"), p.insertLegacy(t, "+999123456789")
		p.insertLegacy(t, "+99900000001")
		french, err := ParsePhone("+330612345678")
		if err != nil {
			t.Fatal(err)
		}
		if u, err := p.ByID(t.Context(), alone); err != nil || *u.Phone != Phone("+330612345678").Masked() {
			t.Fatal(u, err)
		}
		want := func(state PhoneState) []PhoneIssue {
			return []PhoneIssue{
				{PhoneShared, "+447911123456", []int64{zero, plain}},
				{PhoneShared, "+525512345678", []int64{one, lada}},
				{state, french, []int64{alone}},
				{PhoneInvalid, "+999123456789", []int64{invalid}},
			}
		}
		check := func(rewrite bool, want []PhoneIssue) {
			t.Helper()
			checked, found, err := p.CheckPhones(t.Context(), rewrite)
			if diff := cmp.Diff(want, found); diff != "" || checked != 8 || err != nil {
				t.Error(checked, err, diff)
			}
		}
		check(false, want(PhoneSpelling))
		check(true, want(PhoneRewritten))
		check(true, slices.DeleteFunc(want(""), func(f PhoneIssue) bool { return f.State == "" }))
		if u, err := p.ByID(t.Context(), alone); err != nil || *u.Phone != french.Masked() {
			t.Errorf("got phone %s in the profile, %v", *u.Phone, err)
		}
		for s, want := range map[string]int64{"+33 (0)6 12 34 56 78": alone, "+33612345678": alone, "13900000001": right, "+4407911123456": zero} {
			if got := p.loginAs(t, s); got != want {
				t.Errorf("%s opens user %d, want %d", s, got, want)
			}
		}
	})
}
