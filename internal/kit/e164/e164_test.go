package e164

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/nyaruka/phonenumbers"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

// canonical reads a text like the callers of the package.
func canonical(s string) (string, error) {
	text, plus, ok := Unwrap(s)
	digits, clean := Digits(text)
	if !ok || !plus || !clean {
		return "", ErrInvalid
	}
	return Canonical(digits)
}

func TestCanonicalUnifiesSpellings(t *testing.T) {
	tests := []struct {
		name, want string
		spellings  []string
	}{
		{"british", "+447911123456", []string{"+44 7911 123456", "+44 (0)7911 123456", "+4407911123456", "+44 00 7911 123456"}},
		{"german", "+4917612345678", []string{"+49 176 12345678", "+49 0176/12345678", "+49 (0) 176 - 1234 5678", "+4900 17612345678"}},
		{"french", "+33612345678", []string{"+33 6 12 34 56 78", "+33 06.12.34.56.78"}},
		{"russian", "+79123456789", []string{"+7 912 345-67-89", "+7 8 912 345-67-89"}},
		{"hungarian", "+36201234567", []string{"+36 20 123 4567", "+36 06 20 123 4567"}},
		{"lithuanian", "+37061234567", []string{"+370 612 34567", "+370 8 612 34567", "+370 0 612 34567"}},
		{"belarusian", "+375294911911", []string{"+375 29 491 19 11", "+375 8 029 491 19 11"}},
		{"american", "+12025550123", []string{"+1 202 555 0123", "+1 (1) 202 555 0123"}},
		{"mexican", "+525512345678", []string{"+52 55 1234 5678", "+52 1 55 1234 5678", "+52 01 55 1234 5678", "+52 044 55 1234 5678", "+52 045 55 1234 5678"}},
		{"argentine", "+5491123456789", []string{"+54 9 11 2345 6789", "+54 11 2345 6789", "+54 11 15 2345 6789", "+54 011 15 2345 6789", "+54 0 9 11 2345 6789"}},
		{"argentine, another area", "+5493515123456", []string{"+54 9 351 512 3456", "+54 351 512 3456", "+54 351 15 512 3456"}},
		{"brazilian", "+5511987654321", []string{"+55 11 98765 4321", "+55 (0) 11 98765 4321", "+55 0 15 11 98765 4321"}},
		{"chinese", "+8613800138001", []string{"+86 138 0013 8001", "+86 0138 0013 8001"}},
		{"italian landline", "+390612345678", []string{"+39 06 1234 5678"}},
		{"italian mobile", "+393471234567", []string{"+39 347 123 4567"}},
		{"sanmarinese", "+3780549886377", []string{"+378 0549 886377", "+378 886377"}},
		{"ivorian", "+2250123456789", []string{"+225 01 23 45 67 89"}},
		{"beninese", "+2290197979797", []string{"+229 01 97 97 97 97"}},
		{"gabonese", "+24166012345", []string{"+241 66 01 23 45", "+241 0 66 01 23 45"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range tt.spellings {
				if got, err := canonical(s); got != tt.want || err != nil {
					t.Errorf("%s: got %s, %v; want %s", s, got, err, tt.want)
				}
			}
		})
	}
}

func TestUnassignableNumbersAreInvalid(t *testing.T) {
	for _, s := range []string{
		"+210 123 456 789", "+999 123 456 789", "+0 123 456 789", "+384 123 456 789", "+", "+86", "+44 791", "+1 202 555 012", "+1 202 555 01234",
		"+1 123 456 7890", "+1 012 345 6789", "+33 0 00 00 00 00", "+7 000 000 00 00", "+44 0000 000000", "+49 0", "+81 000 0000 0000 0000 00",
		"+55 11 8765 4321", "+229 97 97 97 97", "+225 1 23 45 67 89", "+39 6 1234 5678", "+36 0 20 123 4567",
		strings.Repeat("+44", 9), "+" + strings.Repeat("1", 200),
	} {
		if got, err := canonical(s); err == nil {
			t.Errorf("%s: got %s, want an error", s, got)
		}
	}
}

func TestNewMobileRangesAreAccepted(t *testing.T) {
	unknown := 0
	for _, s := range []string{"+15555550123", "+447800000000", "+447000000001", "+989990000000"} {
		n, err := phonenumbers.Parse(s, "")
		if err != nil {
			t.Fatal(err)
		}
		if !phonenumbers.IsValidNumber(n) {
			unknown++
		}
		if got, err := canonical(s); got != s || err != nil {
			t.Errorf("%s: got %s, %v", s, got, err)
		}
	}
	if unknown == 0 {
		t.Error("all ranges are known")
	}
}

func TestSeparatorsAndLinksAreIgnored(t *testing.T) {
	for _, s := range []string{
		"\u202a+8613800138002\u202c", "\u2068+8613800138002\u2069", "+8613800138002\u200e", "+86\ufe0d 138 0013 8002", "\ufeff+86138\u200b0013\u00ad8002",
		" +86\u00a0138\u20090013\u30008002\n", "+86-138\u20110013\u22128002", "+86.138.0013.8002", "+86/138/0013/8002", "+86·138•0013・8002", "+86~138〜0013～8002",
		"(+86) 138 0013 8002", "[+86] 138 0013 8002", "＋８６（１３８）００１３－８００２", "«+86 138 0013 8002»", "“+86 138 0013 8002”",
		"+٨٦ ١٣٨ ٠٠١٣ ٨٠٠٢", "+८६१३८००१३८००२", "+𝟖𝟔𝟏𝟑𝟖𝟎𝟎𝟏𝟑𝟖𝟎𝟎𝟐", "+8\u20e36\ufe0f\u20e313800138002",
		"tel:+8613800138002", "TEL:+86-138-0013-8002", "tel://+8613800138002", "tel:%2B86%20138%200013%208002", "tel:138-0013-8002;phone-context=+86",
		"\u202atel:+8613800138002\u202c", "sms:+8613800138002",
	} {
		if got, err := canonical(s); got != "+8613800138002" || err != nil {
			t.Errorf("%q: got %s, %v", s, got, err)
		}
	}
}

func TestOtherTextIsInvalid(t *testing.T) {
	for _, s := range []string{
		"", "+", "13800138002", "++8613800138002", "+86+13800138002", "+8613800138002a", "+86138001380O2", "+8613800138002,5", "+8613800138002;5", "+8613800138002#",
		"+8613800138002\x00", "tel:+8613800138002;ext=5", "tel:+8613800138002;isub=1", "tel:138;phone-context=example.com", "tel:+8613800138002;phone-context=+86",
		"tel:%zz", "mailto:+8613800138002", "tel:", "tel:;phone-context=+86", "+8613800138002 ext 5", "+861380013800\u0301", "+86 138 0013 8002 / 8003",
	} {
		if got, err := canonical(s); err == nil {
			t.Errorf("%q: got %s, want an error", s, got)
		}
	}
}

// The example numbers of libphonenumber are canonical, in every country.
func TestMobileNumbersOfAllCountriesAreAccepted(t *testing.T) {
	seen := 0
	for region := range phonenumbers.GetSupportedRegions() {
		example := phonenumbers.GetExampleNumberForType(region, phonenumbers.MOBILE)
		if example == nil {
			continue
		}
		seen++
		want := phonenumbers.Format(example, phonenumbers.E164)
		got, err := canonical(want)
		if got != want || err != nil {
			t.Errorf("%s of %s: got %s, %v", want, region, got, err)
		}
		for _, other := range Spellings(got) {
			if same, err := canonical(other); same != got || err != nil {
				t.Errorf("%s of %s: got %s, %v; want %s", other, region, same, err, got)
			}
		}
	}
	if seen < 230 {
		t.Errorf("got examples of %d countries", seen)
	}
}

func TestSpellingsHaveTheTrunkPrefix(t *testing.T) {
	tests := []struct {
		name, number string
		want         []string
	}{
		{"british", "+447911123456", []string{"+4407911123456"}},
		{"mexican", "+525512345678", []string{"+5215512345678", "+52015512345678", "+520445512345678", "+520455512345678"}},
		{"argentine", "+5491123456789", []string{"+541123456789", "+5401123456789", "+54111523456789", "+540111523456789"}},
		{"russian", "+79123456789", []string{"+789123456789"}},
		{"hungarian", "+36201234567", []string{"+3606201234567"}},
		{"chinese", "+8613800138001", []string{"+86013800138001"}},
		{"italian", "+390612345678", nil},
		{"unknown code", "+99900000001", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Spellings(tt.number)
			for _, s := range tt.want {
				if !slices.Contains(got, s) {
					t.Errorf("%s is missing in %q", s, got)
				}
			}
			if tt.want == nil && len(got) > 0 {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestCanonicalIsStable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	codes := []string{"1", "7", "20", "36", "39", "44", "49", "52", "54", "55", "61", "81", "86", "91", "370", "375", "378", "225", "241", "972", "979"}
	accepted := 0
	for range 5_000 {
		digits := codes[random.IntN(len(codes))] + strconv.Itoa(random.IntN(1_000_000)) + strconv.Itoa(random.IntN(100_000))
		got, err := Canonical(digits)
		if err != nil {
			continue
		}
		accepted++
		if again, err := Canonical(got[1:]); again != got || err != nil {
			t.Fatalf("%s: got %s, and from that %s, %v", digits, got, again, err)
		}
		if CallingCode(got) == "" || len(got) > MaxDigits+1 {
			t.Fatalf("%s: got %s", digits, got)
		}
	}
	if accepted < 300 {
		t.Errorf("got %d accepted numbers", accepted)
	}
}

func TestDigitsAcceptsAllScripts(t *testing.T) {
	sets := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.Is(unicode.Nd, r) {
			if _, ok := text.Digit(r); ok {
				t.Errorf("%U: want a digit", r)
			}
			continue
		}
		for i := range rune(10) {
			if got, ok := text.Digit(r + i); !ok || got != byte('0'+i) {
				t.Errorf("%U: got %c, %v; want %d", r+i, got, ok, i)
			}
		}
		sets, r = sets+1, r+9
	}
	if sets < 60 {
		t.Errorf("got %d scripts with digits", sets)
	}
	got, ok := Digits("１ ٢\u200f-३\u20114\u00ad5 ６")
	if diff := cmp.Diff("123456", got); diff != "" || !ok {
		t.Error(diff, ok)
	}
	for _, s := range []string{"12345a", "12345+", "123,456", "123\x00456"} {
		if got, ok := Digits(s); ok {
			t.Errorf("%q: got %s", s, got)
		}
	}
}

func TestCallingCodes(t *testing.T) {
	for number, want := range map[string]string{"+8613800138001": "86", "+12025550123": "1", "+3780549886377": "378", "+99900000001": "", "+979123456789": "979", "": "", "+": ""} {
		if got := CallingCode(number); got != want {
			t.Errorf("code of %s: got %q, want %q", number, got, want)
		}
	}
	for s, want := range map[string]string{"86": "86", "+86": "86", "1": "1", "": "", "0": "", "086": "", "999": "", "CN": "", "+-1": "", "++1": "", "210": ""} {
		for _, s := range []string{s, " " + s + " "} {
			if got, err := ParseCallingCode(s); got != want || (err == nil) != (want != "") {
				t.Errorf("%q: got %q, %v; want %q", s, got, err, want)
			}
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	for b.Loop() {
		if _, err := Canonical("447911123456"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSpellings(b *testing.B) {
	for name, number := range map[string]string{"chinese": "+8613800138001", "british": "+447911123456", "argentine": "+5491123456789"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if len(Spellings(number)) == 0 {
					b.Fatal("none")
				}
			}
		})
	}
}
