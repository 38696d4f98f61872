package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestParsePhone(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want Phone // "" for ErrInvalidPhone
	}{
		{"eleven digits", "13812345678", "+8613812345678"},
		{"with 86", "8613812345678", "+8613812345678"},
		{"with +86", "+8613812345678", "+8613812345678"},
		{"with 0086", "008613812345678", "+8613812345678"},
		{"the lowest mainland number", "13000000000", "+8613000000000"},
		{"the highest mainland number", "19999999999", "+8619999999999"},
		{"spaces, dashes and dots", " 138-1234 56.78\t", "+8613812345678"},
		{"parentheses", "(+86) 138 (1234) 5678", "+8613812345678"},
		{"dashes of typesetters", "138\u20111234\u20135678", "+8613812345678"},
		{"a minus sign", "138\u22125678\u22121234", "+8613856781234"},
		{"full-width", "＋８６（１３８）１２３４－５６７８", "+8613812345678"},
		{"an ideographic space", "138\u30001234\u00a05678", "+8613812345678"},
		{"a foreign number", "+44 7911 123456", "+447911123456"},
		{"eight digits", "+290 2 2345", "+29022345"},
		{"fifteen digits", "+878 10 1234 567890", "+878101234567890"},
		{"a mainland line that is not mobile", "+86 21 1234 5678", "+862112345678"},
		{"00 and another country", "00447911123456", "+447911123456"},
		{"00 behind a bracket", "(00 44) 7911-123456", "+447911123456"},
		{"a trunk prefix", "+44 (0)7911 123456", "+447911123456"},
		{"a trunk prefix of the mainland", "+86 0138 1234 5678", "+8613812345678"},
		{"Arabic digits", "\u0661\u0663\u0668\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668", "+8613812345678"},
		{"an invisible mark", "\u202d13812345678", "+8613812345678"},
		{"a link", "tel:+8613812345678", "+8613812345678"},
		{"a local link", "tel:138-1234-5678", "+8613812345678"},
		{"a demo account", "+999 0000 0001", "+99900000001"},

		{"nothing", "", ""},
		{"spaces alone", "  ", ""},
		{"a plus alone", "+", ""},
		{"seven digits", "+2901234", ""},
		{"sixteen digits", "+8816123456789012", ""},
		{"a country code that begins with 0", "+08613812345678", ""},
		{"ten digits", "1381234567", ""},
		{"twelve digits", "138123456789", ""},
		{"eleven digits that begin with 12", "12812345678", ""},
		{"eleven digits that begin with 2", "23812345678", ""},
		{"+86 and ten digits that begin with 1", "+861381234567", ""},
		{"+86 and twelve digits that begin with 1", "+86138123456789", ""},
		{"+86 and 12…", "+8612812345678", ""},
		{"86 and a line that is not mobile", "862112345678", ""},
		{"00 and a North American number that looks like ours", "0013812345678", ""},
		{"no country code", "07911123456", ""},
		{"two plus signs", "++8613812345678", ""},
		{"a plus in the middle", "86+13812345678", ""},
		{"a letter", "1381234567a", ""},
		{"an extension", "+44 7911 123456 ext 7", ""},
		{"a NUL", "13812345678\x00", ""},
		{"broken UTF-8", "13812345678\xff", ""},
		{"a number of a country that does not exist", "+999 123 456 789", ""},
		{"a calling code that does not exist", "+210 123 456 789", ""},
		{"two demo accounts", "+99900000001 99900000002", ""},
		{"an extension of a link", "tel:+8613812345678;ext=1", ""},
		{"256 bytes", strings.Repeat(" ", 245) + "13812345678", "+8613812345678"},
		{"257 bytes", strings.Repeat(" ", 246) + "13812345678", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePhone(tt.in)
			if got.E164() != tt.want.E164() || (err == nil) != (tt.want != "") {
				t.Fatalf("got %s, %v; want %s", got.E164(), err, tt.want.E164())
			}
			if err != nil && !errors.Is(err, ErrInvalidPhone) {
				t.Errorf("got %v, want ErrInvalidPhone", err)
			}
		})
	}
}

// All prefixes of mobile numbers in mainland China are accepted, even if the numbering plan
// of the release lacks them.
func TestParsePhoneAcceptsAllMainlandMobileNumbers(t *testing.T) {
	for n := 130; n <= 199; n++ {
		for _, rest := range []string{"00000000", "12345678", "99999999"} {
			want := fmt.Sprintf("+86%d%s", n, rest)
			for _, s := range []string{want, want[3:], want[1:], "00" + want[1:], "+860" + want[3:]} {
				if got, err := ParsePhone(s); got.E164() != want || err != nil {
					t.Errorf("%s: got %s, %v", s, got.E164(), err)
				}
			}
		}
	}
}

// Accounts of earlier versions are found by the spelling that created them.
func TestReadPhoneReturnsTheLegacySpelling(t *testing.T) {
	for s, want := range map[string]Phone{
		"+4407911123456": "+4407911123456", "+44 7911 123456": "+447911123456", "+52 1 55 1234 5678": "+5215512345678", "13812345678": "+8613812345678",
		"+999 123 456 789": "+999123456789", "+86 12 8123 45678": "", "+55 0 15 11 98765 4321": "", "12345": "", "x": "",
	} {
		if _, got, _ := readPhone(s); got != want {
			t.Errorf("%s: got %s, want %s", s, got.E164(), want.E164())
		}
	}
}

func TestMaskedHidesAtLeastFourDigits(t *testing.T) {
	tests := []struct {
		name string
		in   Phone
		want string
	}{
		{"none", "", ""},
		{"mainland", "+8613812345678", "138****5678"},
		{"mainland, not mobile", "+862112345678", "+8621****5678"},
		{"8 digits", "+29012345", "+29****45"},
		{"9 digits", "+290123456", "+29****456"},
		{"10 digits", "+2901234567", "+290****567"},
		{"11 digits", "+29012345678", "+290****5678"},
		{"12 digits", "+447911123456", "+4479****3456"},
		{"15 digits", "+881612345678901", "+8816****8901"},
		{"no plus sign", "13812345678", "****"},
		{"too short to be a number", "+1234567", "****"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Masked(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// reveals reports whether a text contains the number, in plain text or in hexadecimal.
func reveals(text string, p Phone) bool {
	digits := strings.TrimPrefix(p.E164(), "+")
	text = strings.ToLower(text)
	for _, form := range []string{digits, strings.TrimPrefix(digits, "86"), fmt.Sprintf("%x", digits), fmt.Sprintf("% x", digits), fmt.Sprintf("%d", []byte(digits))} {
		if strings.Contains(text, strings.Trim(form, "[]")) {
			return true
		}
	}
	return false
}

func TestPrintedPhonesAreMasked(t *testing.T) {
	const p Phone = "+8613812345678"
	type form struct{ Phone Phone }
	type deep struct{ Forms []*form }
	values := map[string]any{
		"itself":              p,
		"a pointer":           func() *Phone { q := p; return &q }(),
		"a struct":            form{p},
		"a pointer to one":    &form{p},
		"a slice":             []Phone{p},
		"an array":            [1]Phone{p},
		"a slice of any":      []any{p},
		"a slice of structs":  []form{{p}},
		"a map of phones":     map[string]Phone{"of": p},
		"a map by phones":     map[Phone]int{p: 1},
		"an error's argument": fmt.Errorf("send to %v", p),
	}
	for name, v := range values {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%#x", "%d", "%5d", "%c", "%U", "%b", "%o", "%e", "%g", "%t", "%20s", "%-20v", "%.30s", "%z"} {
			if got := fmt.Sprintf(format, v); reveals(got, p) {
				t.Errorf("%s with %s: %s", name, format, got)
			}
		}
		if got := fmt.Sprint(v); reveals(got, p) {
			t.Errorf("Sprint of %s: %s", name, got)
		}
	}
	for format, want := range map[string]string{"%v": "138****5678", "%s": "138****5678", "%q": `"138****5678"`, "%13s|": "  138****5678|", "%d": "%!d(string=138****5678)"} {
		if got := fmt.Sprintf(format, p); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
	noVerb := strings.ToLower("NO VERB") // hides the mistake from vet
	if got := fmt.Sprintf(noVerb, p); reveals(got, p) {
		t.Errorf("extra argument: %s", got)
	}
	deeper := deep{[]*form{{p}}}
	if got := fmt.Sprintf("%v %+v %s", deeper, deeper.Forms[0], p.String()); reveals(got, p) {
		t.Error(got)
	}
}

func TestLoggedPhonesAreMasked(t *testing.T) {
	const p Phone = "+8613812345678"
	type form struct{ Phone Phone }
	values := map[string]any{
		"itself": p, "struct": form{p}, "pointer": &form{p}, "slice": []Phone{p}, "any": []any{p}, "map": map[string]Phone{"of": p},
		"error": fmt.Errorf("send to %s", p),
	}
	var out bytes.Buffer
	for handler, h := range map[string]slog.Handler{"text": slog.NewTextHandler(&out, nil), "json": slog.NewJSONHandler(&out, nil)} {
		for name, v := range values {
			out.Reset()
			slog.New(h).Info("m", "v", v)
			if got := out.String(); reveals(got, p) || got == "" {
				t.Errorf("%s, %s: %s", handler, name, got)
			}
		}
		out.Reset()
		slog.New(h).Info("m", "v", p)
		if !strings.Contains(out.String(), "138****5678") {
			t.Errorf("%s: %s", handler, out.String())
		}
	}
}

func TestPhonesCannotBeMarshalled(t *testing.T) {
	const p Phone = "+8613812345678"
	for name, v := range map[string]any{"itself": p, "a struct": struct{ Phone Phone }{p}, "a slice": []Phone{p}, "a pointer": &struct{ Phone *Phone }{new(p)}} {
		b, err := json.Marshal(v)
		if err == nil || len(b) > 0 {
			t.Errorf("%s: got %s, want an error", name, b)
		} else if reveals(err.Error(), p) {
			t.Errorf("%s: the error contains the number: %v", name, err)
		}
	}
}

func FuzzParsePhone(f *testing.F) {
	for _, s := range []string{"13812345678", "＋８６（１３８）１２３４－５６７８", "+44 7911 123456", "008613812345678", "+4407911123456", "+54 11 2345 6789", "+99900000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePhone(s)
		if err != nil {
			return
		}
		again, err := ParsePhone(p.E164())
		if err != nil || again != p {
			t.Errorf("%q: got %s, and from that %s, %v", s, p.E164(), again.E164(), err)
		}
		if n := len(p.E164()) - 1; n < minDigits || n > maxDigits {
			t.Errorf("%q: got %d digits", s, n)
		}
		if reveals(p.Masked(), p) {
			t.Errorf("masked: %s", p.Masked())
		}
	})
}
