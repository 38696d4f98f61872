package searchtext

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestTermsAreWordsAndBigrams(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		" \t\u200b":               "",
		"Old  Town Cafe":          "cafe old town",
		"Café Crème":              "cafe creme",
		"Phở Thìn":                "pho thin",
		"Lou's Corner":            "corner lous",
		"Joe’s":                   "joes",
		"Coca‑Cola Bar":           "bar coca cocacola cola",
		"A&W":                     "a aw w",
		"Teacup & Rain":           "rain teacup",
		"ﬁve ＳＴＡＲＳ":               "five stars",
		"7-Eleven":                "7 7eleven eleven",
		"Bar/Grill (upstairs)":    "bar grill upstairs",
		"星巴克咖啡":                   "克咖 咖啡 啡 巴克 星巴",
		"茶":                       "茶",
		"小鸭Coffee":                "coffee 小鸭 鸭",
		"卡·萨":                     "卡 萨",
		"ラーメン 一番":                 "メン ラー ン ーメ 一番 番",
		"ｶﾞｰﾄﾞ":                   "ガー ド ード",
		"서울식당":                    "당 서울 식당 울식",
		"☕️ Steam":                "steam ☕",
		"!?":                      "!?",
		"wi\u00adfi":              "wifi",
		strings.Repeat("a", 1000): strings.Repeat("a", 40),
	} {
		if d := cmp.Diff(strings.Fields(want), Terms(text), cmp.Transformer("", func(s []string) string { return strings.Join(s, " ") })); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

func TestQueryWords(t *testing.T) {
	word := func(s string) Word { return Word{Text: s} }
	prefix := func(s string) Word { return Word{Text: s, IsPrefix: true} }
	pair := func(s string) Word { return Word{Text: s, IsBigram: true} }
	for text, want := range map[string][]Word{
		"":             nil,
		"\u200b ":      nil,
		"coffee quiet": {word("coffee"), prefix("quiet")},
		"quiet, quiet": {word("quiet"), prefix("quiet")},
		"星巴克":          {pair("星巴"), pair("巴克")},
		"茶":            {{Text: "茶", IsPrefix: true, IsBigram: true}},
		"星巴克 coffee":   {pair("星巴"), pair("巴克"), prefix("coffee")},
		"coffee 茶馆":    {word("coffee"), pair("茶馆")},
		"...":          {word("...")},
	} {
		if d := cmp.Diff(want, Query(text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

// matches answers a query as an index does.
func matches(terms []string, words []Word) bool {
	for _, w := range words {
		if !slices.ContainsFunc(terms, func(term string) bool { return term == w.Text || w.IsPrefix && strings.HasPrefix(term, w.Text) }) {
			return false
		}
	}
	return len(words) > 0
}

// Each text is found by its words in any order, by its beginning during typing, and by
// each part of it in an unspaced script.
func TestQueriesFindTheirTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 2)) //nolint:gosec // not a secret
	words := []string{"Café", "noodle", "Coca‑Cola", "Joe’s", "星巴克咖啡", "ラーメン", "서울", "42", "Phở", "☕", "A&W", "茶", "ข้าว"}
	for range 3000 {
		var some []string
		for range 1 + random.IntN(5) {
			some = append(some, words[random.IntN(len(words))])
		}
		name := strings.Join(some, []string{" ", ", ", " – "}[random.IntN(3)])
		terms := Terms(name)
		random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		queries := []string{name, strings.ToUpper(name), strings.Join(some, " "), some[0]}
		r := []rune(name)
		for n := 1; n <= len(r); n++ {
			if typed := string(r[:n]); utf8.ValidString(typed) {
				queries = append(queries, typed)
			}
		}
		for _, q := range queries {
			if !matches(terms, Query(q)) {
				t.Fatalf("%q has the terms %q and is not found by %q, as %v", name, terms, q, Query(q))
			}
		}
	}
}

func TestHostileTextsHaveBoundedTerms(t *testing.T) {
	var distinct strings.Builder
	for i := range 10_000 {
		distinct.WriteRune('一' + rune(i))
	}
	for name, text := range map[string]string{
		"distinct characters": distinct.String(), "one letter": strings.Repeat("a", 100_000), "punctuation": strings.Repeat("!?", 50_000),
		"marks": strings.Repeat("\u0301", 100_000), "words": strings.Repeat("a b c d e f g ", 10_000), "invalid UTF-8": strings.Repeat("\xff", 1000),
	} {
		terms, words := Terms(text), Query(text)
		if len(terms) > maxTerms || len(words) > MaxWords {
			t.Errorf("%s: got %d terms, %d words", name, len(terms), len(words))
		}
		for _, term := range terms {
			if utf8.RuneCountInString(term) > maxTerm || term == "" {
				t.Errorf("%s: got a term of %d bytes", name, len(term))
			}
		}
	}
}

func TestPinyinTermsAreSyllablesAndInitials(t *testing.T) {
	for name, want := range map[string][]string{
		"星巴克":         {"xingbake", "bake", "xbk", "bk"},
		"重庆火锅":        {"chongqinghuoguo", "zhongqinghuoguo", "cqhg", "huoguo", "hg"},
		"听雨茶室 Teacup": {"tingyuchashi", "tycs", "chashi"},
		"绿茶":          {"lvcha", "lc"},
		"Café":        nil,
		"银行 and 长沙":   {"yinhang", "changsha", "cs"},
		"人々":          nil, // a character without a reading
	} {
		got := PinyinTerms(name)
		for _, term := range want {
			if !slices.Contains(got, term) {
				t.Errorf("%s: got %q, want also %q", name, got, term)
			}
		}
		if want == nil && len(got) > 0 {
			t.Errorf("%s: got %q, want none", name, got)
		}
	}
	if n := len(PinyinTerms(strings.Repeat("重", 500))); n > 2*maxReadings*maxSyllable {
		t.Errorf("got %d terms of one run", n)
	}
}
