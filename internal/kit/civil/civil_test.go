package civil

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDatesRoundTrip(t *testing.T) {
	for _, s := range []string{"2026-11-21", "2024-02-29", "0001-01-01", "9999-12-31"} {
		d, err := Parse(s)
		if err != nil || d.String() != s {
			t.Errorf("%s: got %v, %v", s, d, err)
		}
		b, err := json.Marshal(d)
		var again Date
		if err != nil || json.Unmarshal(b, &again) != nil || again != d || string(b) != `"`+s+`"` {
			t.Errorf("%s: got text %s and day %v", s, b, again)
		}
	}
	for _, s := range []string{"", "2026-2-3", "2025-02-29", "2026-13-01", "20261121", "2026-11-21T00:00:00Z", " 2026-11-21", "0000-01-01", "１９99-01-01"} {
		if d, err := Parse(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, d)
		}
	}
	var d Date
	if json.Unmarshal([]byte(`"tomorrow"`), &d) == nil {
		t.Error("tomorrow: got no error")
	}
}

func TestDatesAreOrdered(t *testing.T) {
	days := []Date{{2025, 12, 31}, {2026, 1, 1}, {2026, 1, 2}, {2026, 2, 1}}
	for i, a := range days {
		for j, b := range days {
			if a.Before(b) != (i < j) {
				t.Errorf("%v before %v: got %v", a, b, a.Before(b))
			}
		}
	}
	zone := time.FixedZone("", 8*3600)
	if got := DateOf(time.Date(2026, 1, 1, 1, 0, 0, 0, zone)); got != days[1] {
		t.Errorf("got day %v", got)
	}
}

func TestDaysIncludesBothEnds(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     int
	}{
		{"2026-03-01", "2026-03-01", 1},
		{"2026-02-28", "2026-03-01", 2},
		{"2028-02-28", "2028-03-01", 3},
		{"2026-01-01", "2026-12-31", 365},
		{"2026-03-02", "2026-03-01", 0},
		{"2026-03-09", "2026-03-01", -7},
		{"0001-01-01", "9999-12-31", 3652059},
	} {
		from, err := Parse(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := Parse(tt.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := Days(from, to); got != tt.want {
			t.Errorf("from %s to %s: got %d days, want %d", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestAddAndWeekday(t *testing.T) {
	for _, tt := range []struct {
		from string
		days int
		want string
		on   time.Weekday
	}{
		{"2026-12-31", 1, "2027-01-01", time.Friday},
		{"2027-01-01", -1, "2026-12-31", time.Thursday},
		{"2028-02-28", 1, "2028-02-29", time.Tuesday},
		{"2026-11-23", 0, "2026-11-23", time.Monday},
		{"2026-01-10", -30, "2025-12-11", time.Thursday},
	} {
		from, err := Parse(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := from.Add(tt.days); got.String() != tt.want || got.Weekday() != tt.on {
			t.Errorf("%d days from %s: got %v, a %v", tt.days, tt.from, got, got.Weekday())
		}
	}
}
