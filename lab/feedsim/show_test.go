package feedsim

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestTableHasParametersAndPolicies(t *testing.T) {
	o := sized(5000)
	o.Exponent, o.Follows, o.Posts, o.PostPower, o.Largest, o.PushRate = 2.25, 33, 0.77, 0.125, 0.225, 7654
	var out bytes.Buffer
	if err := Table(o, &out); err != nil {
		t.Fatal(err)
	}
	head, rows, _ := strings.Cut(out.String(), "\n\n")
	for _, want := range []string{"5 000 users", "2.25", "33 each", "0.77 notes", "0.125", "0.225", "7 654 pushes", FormatReaders(o.Readers)} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in the head:\n%s", want, head)
		}
	}
	lines := strings.Split(strings.TrimSpace(rows), "\n")[1:]
	for i, p := range Policies() {
		if i >= len(lines) || !strings.HasPrefix(lines[i], p.Name+"  ") {
			t.Errorf("line %d: want %s, got\n%s", i+1, p.Name, rows)
		}
	}
}

// The chart is a complete document with a name for each line, for any number of users, even
// if no account reaches the thresholds.
func TestChartNamesItsLines(t *testing.T) {
	for _, users := range []int{1000, 1_000_000, 100_000_000} {
		chart := Chart(sized(users))
		if bytes.Contains(chart, []byte("NaN")) || bytes.Contains(chart, []byte("Inf")) {
			t.Errorf("invalid coordinates in\n%s", chart)
		}
		shapes, texts := 0, map[string]bool{}
		for d := xml.NewDecoder(bytes.NewReader(chart)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if token.Name.Local == "polyline" {
					shapes++
				}
			case xml.CharData:
				texts[string(token)] = true
			}
		}
		if shapes != 8 {
			t.Errorf("got %d lines, want 8", shapes)
		}
		for _, want := range []string{
			"inbox writes", "outbox reads", "writes and outbox reads", "pull", "push to all", "push to active readers",
			"classic hybrid at 100 000", "for each pair", "threshold, followers", "commands a second",
		} {
			if !texts[want] {
				t.Errorf("no text %q", want)
			}
		}
	}
}
