package account

import (
	"regexp"
	"strings"
)

const (
	maxAgent    = 512 // bytes of a user agent that describe reads
	maxDescribe = 80  // characters of a description
)

// browsers lists browsers by their product token. Most user agents also contain the
// tokens of later entries, so the order matters.
//
//nolint:gochecknoglobals // constant
var browsers = []struct {
	name    string
	product *regexp.Regexp
}{
	{"WeChat", product("MicroMessenger")},
	{"Edge", product("EdgA?|EdgiOS")},
	{"Opera", product("OPR|OPT")},
	{"Samsung Internet", product("SamsungBrowser")},
	{"Firefox", product("Firefox|FxiOS")},
	{"Chrome", product("Chrome|CriOS|HeadlessChrome")},
	{"Safari", regexp.MustCompile(`\bVersion/(\d{1,4}).*\bSafari/`)},
}

func product(names string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + names + `)/(\d{1,4})`)
}

// systems lists operating systems by a word of their user agents. Some user agents also
// contain later words, so the order matters.
//
//nolint:gochecknoglobals // constant
var systems = []struct{ word, name string }{
	{"iPhone", "iPhone"},
	{"iPad", "iPad"},
	{"OpenHarmony", "HarmonyOS"},
	{"Android", "Android"},
	{"Windows", "Windows"},
	{"CrOS", "ChromeOS"},
	{"Mac OS X", "macOS"},
	{"Linux", "Linux"},
}

// describe returns the browser and system of a user agent, such as "Firefox 132 on
// Windows", or the beginning of an unknown user agent. The result has at most 80
// printable ASCII characters and may be empty.
func describe(userAgent string) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, userAgent[:min(len(userAgent), maxAgent)])
	for _, b := range browsers {
		m := b.product.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		for _, s := range systems {
			if strings.Contains(text, s.word) {
				return b.name + " " + m[1] + " on " + s.name
			}
		}
		return b.name + " " + m[1]
	}
	return strings.TrimSpace(text[:min(len(text), maxDescribe)])
}
