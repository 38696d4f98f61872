package openinghours

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// documented holds values in the forms that the pages of the key and its specification explain.
var documented = []string{
	"24/7",
	"24/7; Dec 25 off",
	"24/7 closed",
	"off",
	"open",
	"08:00-22:00",
	"00:00-24:00",
	"10:00-02:00",
	"10:00-26:00",
	"18:00-26:00+",
	"08:00-11:00,13:00-17:00",
	"Mo-Fr 08:30-20:00",
	"Mo-Fr 08:00-17:30",
	"Mo-Su 08:00-18:00",
	"Mo-Sa 10:00-20:00",
	"Mo-Sa 10:00-20:00; Tu off",
	"Mo-Sa 10:00-20:00; Tu 10:00-14:00",
	"Mo-Fr 08:00-12:00,13:00-17:30",
	"Mo-Fr 08:00-12:00, We 14:00-18:00",
	"Mo-Fr 08:00-12:00, Mo,Tu,Th 14:00-17:00",
	"Mo 10:00-12:00,12:30-15:00; Tu-Fr 08:00-12:00,12:30-15:00; Sa 08:00-12:00",
	"Mo-Fr 08:00-12:00,13:00-17:30; Sa 08:00-12:00; PH off",
	"Mo-Fr 08:00-12:00,13:00-17:30; Sa 08:00-12:00; PH 09:00-12:00",
	"Mo-Fr,PH 09:00-17:00",
	"Tu-Su,PH 10:00-18:00",
	"Mo,We,Fr 09:00-17:00",
	"Sa-Mo 10:00-18:00",
	"Sa-Su 00:00-24:00",
	"Su-Th 11:00-23:00; Fr,Sa 11:00-02:00",
	"Fr 18:00-02:00",
	"Th,Fr 12:00-18:00; Sa,PH 12:00-17:00; Th[3] off; Th[-1] off",
	"Mo[1] 10:00-12:00",
	"Sa[2,4] 10:00-14:00",
	"Th[1-2] 09:00-12:00",
	"Su[-1] 14:00-17:00",
	"Th[1] +1 day 10:00-12:00",
	"SH,PH off; Mo-Fr 08:00-16:00",
	"SH Mo-Fr 10:00-12:00; Mo-Fr 08:00-16:00",
	"PH -1 day off; Mo-Sa 09:00-18:00",
	"Mo-Fr 09:00-17:00; PH,SH closed",
	"Mo-Su 08:00-18:00; Apr 10-15 off; Jun 08:00-14:00; Aug off; Dec 25 off",
	"Apr-Oct 09:00-18:00",
	"Apr-Oct Mo-Fr 09:00-18:00; Nov-Mar Mo-Fr 10:00-16:00",
	"Apr-Oct: Mo-Fr 09:00-18:00",
	"Jan,Feb,Nov,Dec 10:00-16:00",
	"Jan 23-Feb 12: 10:00-18:00",
	"Dec 24-26 off; 10:00-18:00",
	"Dec 25-Jan 5 off; Mo-Fr 09:00-17:00",
	"Dec 24,Dec 31 09:00-13:00",
	"Dec 25,26 off; 24/7",
	"2026 Jan 23-Feb 11 10:00-18:00",
	"2026 Dec 24-2027 Jan 6 off; Mo-Sa 09:00-18:00",
	"2026-2030 Mo-Fr 09:00-17:00",
	"2026/2 Jul 10:00-18:00",
	"2026+ Mo-Fr 09:00-17:00",
	"week 1-53/2 Fr 09:00-12:00; week 2-53/2 We 09:00-12:00",
	"week 10-20 Mo-Fr 10:00-16:00",
	"week 01,03 Mo 10:00-16:00",
	"easter off; 24/7",
	"easter -2 days off; Mo-Su 10:00-18:00",
	"easter -2 days-easter +1 day 10:00-12:00",
	"sunrise-sunset",
	"dawn-dusk",
	"(sunrise+02:00)-(sunset-02:00)",
	"sunset-sunrise",
	"Mo-Fr 10:00-(sunset+01:00)",
	"17:00+",
	"Sa 22:00+",
	"Sa 18:00-22:00+",
	`Mo-Fr 08:00-18:00 open "walk-ins welcome"`,
	`Mo 10:00-16:00; Tu off "staff training"`,
	`Mo-Fr 08:00-12:00; Sa unknown "by appointment"`,
	`Mo-Fr 08:00-12:00 || "by appointment"`,
	`Mo-Fr 08:00-11:00 || Tu-Th,PH 10:00-12:00 open "emergency only"`,
	`"only after registration"`,
	"PH off",
	"Mo-Fr 10:00-16:00/01:30",
	"Mar Su[-1]-Oct Su[-1] 10:00-18:00",
}

func TestDocumentedValuesParse(t *testing.T) {
	parsed := countParsed(t, documented)
	if len(documented) < 60 || parsed*100 < len(documented)*95 {
		t.Errorf("%d of %d documented values parse, want 95 %%", parsed, len(documented))
	}
}

func TestValuesOfHanoiParse(t *testing.T) {
	path, ok := testkit.SharedFile(t, "data/osm-hanoi.json")
	if !ok {
		t.Skip("no shared data")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var extract struct {
		Elements []struct{ Tags map[string]string }
	}
	if err := json.Unmarshal(data, &extract); err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, e := range extract.Elements {
		if v := e.Tags["opening_hours"]; v != "" {
			values = append(values, v)
		}
	}
	parsed := countParsed(t, values)
	if len(values) < 100 || parsed*100 < len(values)*95 {
		t.Errorf("%d of %d values parse, want at least 95 %% of 100 or more", parsed, len(values))
	}
}

func countParsed(t *testing.T, values []string) (parsed int) {
	t.Helper()
	for _, v := range values {
		h, err := Parse(v)
		if err != nil {
			t.Logf("does not parse: %q: %v", v, err)
			continue
		}
		parsed++
		checkRoundTrip(t, v, h)
	}
	t.Logf("%d of %d values parse", parsed, len(values))
	return parsed
}

// checkRoundTrip fails the test unless the text of h parses to the same hours.
func checkRoundTrip(t *testing.T, from string, h Hours) {
	t.Helper()
	again, err := Parse(h.String())
	if err != nil {
		t.Errorf("Parse(%q).String() = %q does not parse: %v", from, h, err)
		return
	}
	if again.Ignored != nil && !h.Varies() {
		t.Errorf("Parse(%q) ignores %q", h, again.Ignored)
	}
	again.Ignored = h.Ignored
	if diff := cmp.Diff(h, again, cmp.AllowUnexported(Hours{}, rule{}, numberRange{}, nthDay{}, dateRange{}, date{})); diff != "" {
		t.Errorf("hours of %q change in text %q (-want +got):\n%s", from, h, diff)
	}
	if again.String() != h.String() {
		t.Errorf("text of %q changes from %q to %q", from, h, again)
	}
}

func TestParseGivesCanonicalHours(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"always", " 24/7 ", "24/7"},
		{"always open", "24/7 open", "24/7"},
		{"all hours", "24 hours", "24/7"},
		{"all hours in short", "Mo-Sa 24h", "Mo-Sa 00:00-24:00"},
		{"midnight to midnight", "Mo-Su 00:00-00:00", "24/7"},
		{"never", "closed", "off"},
		{"no weekday", "7:30-00:00", "Mo-Su 07:30-24:00"},
		{"daily", "daily 8-20", "Mo-Su 08:00-20:00"},
		{"one-digit hour", "Mo-Su 20:00-2:00", "Mo-Su 20:00-02:00"},
		{"hour of 24", "08:00-24:00", "Mo-Su 08:00-24:00"},
		{"hours above 24", "20:00-26:30", "Mo-Su 20:00-02:30"},
		{"longer than a day", "Mo 10:00-36:00", "Mo 10:00-36:00"},
		{"same begin and end", "Fr 10:00-10:00", "Fr 10:00-10:00"},
		{"en dash", "Mo–Fr 9:00 – 17:00", "Mo-Fr 09:00-17:00"},
		{"em dash", "Mo—Fr 9:00—17:00", "Mo-Fr 09:00-17:00"},
		{"full-width signs", "Mo－Fr 9：00～17：00；Sa，Su 10：00-12：00", "Mo-Fr 09:00-17:00; Sa,Su 10:00-12:00"},
		{"words", "Monday to Friday 8am to 5:30 p.m.", "Mo-Fr 08:00-17:30"},
		{"noon and midnight", "Sa 12pm-12am", "Sa 12:00-24:00"},
		{"long and short names", "MON, tues, Wednesdays & thurs. 10-12", "Mo-Th 10:00-12:00"},
		{"hours with h", "8h-11h30, 13h30-22h", "Mo-Su 08:00-11:30,13:30-22:00"},
		{"dots", "08.30-17.00", "Mo-Su 08:30-17:00"},
		{"colon after days", "Mo-Fr: 08:00-17:00", "Mo-Fr 08:00-17:00"},
		{"space after commas", "Sa, Su 07:00-10:00, 12:00-23:00", "Sa,Su 07:00-10:00,12:00-23:00"},
		{"unsorted and touching", "15:00-18:00,09:00-12:00,12:00-13:00", "Mo-Su 09:00-13:00,15:00-18:00"},
		{"week wrap", "Sa-Mo 10:00-18:00", "Mo,Sa,Su 10:00-18:00"},
		{"later rule replaces", "Mo-Fr 08:00-18:00; We 10:00-12:00", "Mo,Tu,Th,Fr 08:00-18:00; We 10:00-12:00"},
		{"later rule closes", "Mo-Sa 10:00-20:00; Tu off", "Mo,We-Sa 10:00-20:00"},
		{"additional rule", "Mo-Fr 08:00-12:00, We,Th 14:00-18:00", "Mo,Tu,Fr 08:00-12:00; We,Th 08:00-12:00,14:00-18:00"},
		{"additional rule on all days", "Mo-Fr 08:00-12:00, Mo-Fr 14:00-18:00", "Mo-Fr 08:00-12:00,14:00-18:00"},
		{"missing separator", "Mo-Fr 08:00-12:00 Sa 09:00-11:00", "Mo-Fr 08:00-12:00; Sa 09:00-11:00"},
		{"trailing separators", "Mo 08:00-12:00;;", "Mo 08:00-12:00"},
		{"closed at noon", "Mo-Su 08:00-18:00; 12:00-13:00 off", "Mo-Su 08:00-12:00,13:00-18:00"},
		{"closed at night", "24/7; 22:00-06:00 off", "Mo-Su 06:00-22:00"},
		{"closed after midnight", "Mo 18:00-04:00; Tu 01:00-02:00 off", "Mo 18:00-01:00; Tu 02:00-04:00"},
		{"closed until the day after", "Tu 18:00-04:00; Mo 10:00-48:00 off", "We 00:00-04:00"},
		{"ordinal of a listed day", "Mo-Su,Mo[1] 10:00-12:00", "Mo-Su 10:00-12:00"},
		{"all hours after a comma", "Mo 10:00-12:00, 24/7", "24/7"},
		{"tail before a closed day", "Fr 18:00-02:00; Sa off", "Fr 18:00-02:00"},
		{"all weeks", "Jan-Dec week 1-53 Mo 10:00-12:00", "Mo 10:00-12:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, h.String()); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", c.text, diff)
			}
			if h.Ignored != nil {
				t.Errorf("Parse(%q) ignores %q, want nothing", c.text, h.Ignored)
			}
			checkRoundTrip(t, c.text, h)
		})
	}
}

func TestParseListsIgnoredParts(t *testing.T) {
	for _, c := range []struct {
		text, want string
		ignored    []string
	}{
		{"Mo-Fr 09:00-17:00; PH off", "Mo-Fr 09:00-17:00", []string{"public holidays"}},
		{"Mo-Fr,PH 09:00-17:00", "Mo-Fr 09:00-17:00", []string{"public holidays"}},
		{"PH,SH off; Sa 09:00-17:00; Su,PH off", "Sa 09:00-17:00", []string{"public holidays", "school holidays"}},
		{"Mo-Fr 09:00-17:00; SH Mo-Fr 10:00-12:00", "Mo-Fr 09:00-17:00", []string{"school holidays"}},
		{`Mo 09:00-17:00 "ring"; Tu off "rest"`, "Mo 09:00-17:00", []string{"comments"}},
		{`Mo 09:00-17:00 || Tu "ring"`, "Mo 09:00-17:00", []string{"fallback rules"}},
		{"10:00+", "Mo-Su 10:00-24:00", []string{"open end"}},
		{"18:00-22:00+", "Mo-Su 18:00-22:00", []string{"open end"}},
		{"sunrise-sunset", "Mo-Su 06:00-18:00", []string{"sun times"}},
		{"(sunrise+01:00)-(sunset-01:30)", "Mo-Su 07:00-16:30", []string{"sun times"}},
		{"Mo-Sa 08:00-12:00; Sa unknown", "Mo-Fr 08:00-12:00", []string{"unknown hours"}},
		{`Mo-Sa 08:00-12:00; Sa "ring"`, "Mo-Fr 08:00-12:00", []string{"comments", "unknown hours"}},
	} {
		h, err := Parse(c.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, h.String()); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", c.text, diff)
		}
		if diff := cmp.Diff(c.ignored, h.Ignored); diff != "" {
			t.Errorf("Parse(%q).Ignored (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestParseRejectsUnknownText(t *testing.T) {
	for _, text := range []string{
		"", " ", ";", "hello", "M 10:00-12:00", "J 10:00-12:00", "Mo", "Mo-Fr", "Apr-Oct", "Mo-", "Mo-99", "Mo 10:00", "Mo 10:00-", "Mo 10:00-12:0",
		"25:00-26:00", "24:00-26:00", "10:60-12:00", "10:00-48:01", "10:00-12:00 14:00-16:00", "13pm-15pm", "0800-1700",
		"Mo[6] 10:00-12:00", "Mo[0] 10:00-12:00", "Mo[1 10:00-12:00", "Mo-Fr Sa 10:00-12:00", "week 54 10:00-12:00",
		"Feb 30 off; 24/7", "Apr 31 off; 24/7", "Apr-2027 May 10:00-12:00", "2026 2027 Mo 10:00-12:00",
		"(sunrise)-10:00", "(noon+01:00)-20:00", "19:00-sunset", `Mo 10:00-12:00 "open`, `"by appointment"`, "PH off",
		"Su off", "unknown", "Mo 10:00-12:00; unknown", "Mo 10:00-16:00/30", "Mo 10:00-12:00; what", "10:00-12:00\x00",
		strings.Repeat("1", 400) + ":00-12:00", strings.Repeat("Mo 10:00-12:00;", 40),
		"Mo 1-2,3-4,5-6,7-8,9-10,11-12,13-14;" + "Tu 1-2,3-4,5-6,7-8,9-10,11-12,13-15;" + "We 1-2,3-4,5-6,7-8,9-10,11-12,13-16;" +
			"Th 1-2,3-4,5-6,7-8,9-10,11-12,13-17;" + "Fr 1-2,3-4,5-6,7-8,9-10,11-12,13-18;" + "Sa 1-2,3-4,5-6,7-8,9-10,11-12,13-19",
	} {
		h, err := Parse(text)
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("Parse(%.60q) = %q, %v, want ErrUnknown", text, h, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range documented {
		f.Add(v)
	}
	f.Add("Mo-Fr 8h30 – 17h; Sa[1,-1] +1 day 9am-1pm, Su 20:00-26:00 \"x\" || off")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("Parse(%q): %v does not wrap ErrUnknown", text, err)
			}
			return
		}
		checkRoundTrip(t, text, h)
		checkWeek(t, h, monday)
	})
}
