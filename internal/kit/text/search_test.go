package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestSpellingsOfOneNameHaveOneSearchForm(t *testing.T) {
	tests := []struct {
		name string
		same []string
	}{
		{"apostrophes", []string{"Mary's Pie", "Mary’s Pie", "Mary‘s Pie", "Maryʼs Pie", "Mary`s Pie", "Mary´s Pie", "Mary′s Pie", "Mary＇s Pie", "Marys Pie", "marys pie"}},
		{"quotes", []string{`The "Ark"`, "The “Ark”", "The „Ark“", "The «Ark»", "The ‹Ark›", "The ″Ark″", "The ＂Ark＂", "The 「Ark」", "The Ark"}},
		{"dashes", []string{"Wi-Fi", "Wi‐Fi", "Wi‑Fi", "Wi–Fi", "Wi—Fi", "Wi−Fi", "Wi﹣Fi", "Wi－Fi", "Wi⁻Fi", "Wi\u00adFi", "wi fi", "wifi"}},
		{"dots", []string{"Dr. Noodle...", "Dr. Noodle…", "Dr Noodle"}},
		{"slashes", []string{"Bar/Grill", "Bar∕Grill", "Bar⁄Grill", "Bar／Grill", "Bar | Grill", "bar grill"}},
		{"middle dots", []string{"卡·萨", "卡・萨", "卡･萨", "卡•萨", "卡萨"}},
		{"blanks", []string{"Two  Ducks", " Two\u00a0Ducks\u3000", "Two\tDucks\n", "Two\u2009Ducks", "TwoDucks", "Two\u2800Ducks"}},
		{"Chinese next to Latin", []string{"小鸭Coffee", "小鸭 Coffee", "小鸭 ＣＯＦＦＥＥ"}},
		{"invisible characters", []string{"鸭子茶馆", "鸭子\u200b茶馆", "\ufeff鸭子茶馆", "\u200e鸭子\u200f茶馆", "鸭\u2060子茶馆", "鸭子\u202e茶馆", "鸭子\u034f茶馆", "鸭子\u3164茶馆", "鸭\U000e0100子茶馆", "鸭子\x00茶馆"}},
		{"variation selectors", []string{"☕ Steam", "☕️ Steam", "☕︎ Steam"}},
		{"emoji", []string{"👍🏽 1️⃣", "👍 1"}},
		{"joined emoji", []string{"👨\u200d🍳", "👨🍳"}},
		{"trade marks", []string{"Pret™", "Pret®", "pret"}},
		{"Turkish i", []string{"İzmir Izgara", "izmir ızgara", "IZMIR IZGARA", "İZMİR IZGARA", "i\u0307zmir izgara"}},
		{"sharp s", []string{"Weißbier", "WEISSBIER", "WEIẞBIER", "weissbier"}},
		{"final sigma", []string{"ΟΔΟΣ", "οδος", "οδός", "ΟΔΌΣ", "οδοσ"}},
		{"iota below", []string{"ᾠδή", "ωδη", "ᾨΔΉ"}},
		{"Cherokee", []string{"ᏣᎳᎩ", "ꮳꮃꭹ"}},
		{"Georgian", []string{"ᲗᲑᲘᲚᲘ", "თბილი"}},
		{"Latin accents", []string{"Crêpe Brûlée", "Cre\u0302pe Bru\u0302le\u0301e", "crepe brulee"}},
		{"Vietnamese", []string{"Bún Đậu Ở Đường", "bun dau o duong", "BÚN ĐẬU Ở ĐƯỜNG"}},
		{"Nordic", []string{"Smørrebrød på Ærø", "smorrebrod pa aero"}},
		{"Polish", []string{"Łódź", "LODZ"}},
		{"Maltese", []string{"Ħaż-Żebbuġ", "haz zebbug"}},
		{"Icelandic", []string{"Þórður", "thordur"}},
		{"French", []string{"Cœur d’Œuf", "coeur d'oeuf"}},
		{"Dutch", []string{"Ĳssel", "Ĳssel", "ijssel"}},
		{"Pinyin", []string{"Lǜ Chá", "lu cha"}},
		{"Russian", []string{"Ёлка", "елка", "ЕЛКА"}},
		{"Ukrainian", []string{"Ґанок", "ганок"}},
		{"Kazakh", []string{"Қазақ", "казак"}},
		{"Hebrew points", []string{"שָׁלוֹם", "שלום", "ש\u05c1לום"}},
		{"Arabic vowel signs", []string{"مُحَمَّد", "محمد", "محـــمد"}},
		{"Arabic hamza", []string{"أحمد", "احمد"}},
		{"Persian letters", []string{"کافی", "كافي"}},
		{"digits", []string{"24 شارع", "٢٤ شارع", "۲۴ شارع", "２４ شارع"}},
		{"full width", []string{"ＳＴＡＲ　１", "star 1"}},
		{"half-width kana", []string{"ｶﾞｰﾃﾞﾝ", "ガーデン", "カ\u3099ーテ\u3099ン"}},
		{"Hangul", []string{"한글", norm.NFD.String("한글"), "한\u200b글"}},
		{"ligatures", []string{"ﬁve oﬃce", "five office"}},
		{"numbers in signs", []string{"№ ⑤ m²", "no 5 m2"}},
		{"Kangxi radicals", []string{"⾯⻝", "面⻝"}},
		{"punctuation alone", []string{"!!!", "！！！", "! ! !", "\u200b!!!"}},
		{"dashes alone", []string{"--", "——", "−−"}},
		{"nothing", []string{"", " ", "\u200b", "\u3164\u2800", "\ufe0f", "\u00ad", "\u202e\u202c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := SearchForm(tt.same[0])
			for _, s := range tt.same[1:] {
				if got := SearchForm(s); got != want {
					t.Errorf("form of %+q: got %+q, want %+q as of %+q", s, got, want, tt.same[0])
				}
			}
		})
	}
}

func TestDifferentWordsHaveDifferentSearchForms(t *testing.T) {
	tests := []struct{ name, a, b string }{
		{"dakuten", "か", "が"},
		{"handakuten", "は", "ぱ"},
		{"half-width dakuten", "ｶ", "ｶﾞ"},
		{"Devanagari vowels", "कम", "कुम"},
		{"Devanagari virama", "कल", "क्ल"},
		{"Bengali vowels", "কম", "কুম"},
		{"Tamil virama", "கல", "கல்"},
		{"Thai vowels", "กน", "กิน"},
		{"Thai tones", "ขาว", "ข้าว"},
		{"Lao vowels", "ກນ", "ກິນ"},
		{"Khmer vowels", "កន", "កុន"},
		{"Burmese vowels", "ကန", "ကိန"},
		{"Hangul finals", "하", "한"},
		{"ampersand", "A&B", "AB"},
		{"per cent", "100%", "100"},
		{"number sign", "#1", "1"},
		{"plus", "7+", "7"},
		{"currency", "$5", "5"},
		{"symbols", "☕", "⚡"},
		{"characters", "湖", "胡"},
		{"punctuation alone", "?", "!"},
		{"a backslash", `\`, ""},
		{"an underscore", "_", ""},
		{"an accent alone", "´", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := SearchForm(tt.a), SearchForm(tt.b); a == b {
				t.Errorf("%q and %q both have the form %+q", tt.a, tt.b, a)
			}
		})
	}
}

// The test checks every assigned character and a sample of the Chinese ones.
func TestSearchFormIsStable(t *testing.T) {
	assigned := []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf}
	checked := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, assigned...) || unicode.Is(unicode.Han, r) && r%37 > 0 {
			continue
		}
		checked++
		alone := SearchForm(string(r))
		form := SearchForm("a" + string(r) + "b")
		for s, form := range map[string]string{string(r): alone, "a" + string(r) + "b": form} {
			if again := SearchForm(form); again != form {
				t.Errorf("form of the form of %+q: got %+q, want %+q", s, again, form)
			}
			if strings.ContainsFunc(form, unicode.IsSpace) || strings.ContainsFunc(form, unicode.IsControl) {
				t.Errorf("form of %+q: got %+q, want no blanks", s, form)
			}
		}
		if r == '\u0345' || r == '™' || r == '℠' { // an iota with its own capital, and signs that decompose to letters
			continue
		}
		for what, other := range map[string]string{
			"upper case": strings.ToUpper(string(r)), "lower case": strings.ToLower(string(r)), "title case": string(unicode.ToTitle(r)),
			"NFD": norm.NFD.String(string(r)), "NFKC": norm.NFKC.String(string(r)),
		} {
			if got := SearchForm("a" + other + "b"); got != form {
				t.Errorf("form of %U in %s: got %+q, want %+q", r, what, got, form)
			}
		}
	}
	if checked < 30_000 {
		t.Errorf("checked %d characters, want at least 30000", checked)
	}
}

// The test compares random texts with random other spellings.
func TestRespellingKeepsTheSearchForm(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 7))
	letters := []rune("abcxyzABCXYZ0189éÅñßİıŁđøœþςΣάёйїҐ火锅湖滨中かがパガンーｶﾞ한글각कुमखीไทยข้าวשלוםمحمدأ☕👍&%#'’-‐ .,!\"“\u00a0\u0301\u3099")
	pick := func(from []string) string { return from[rnd.IntN(len(from))] }
	for range 20_000 {
		text := make([]rune, 1+rnd.IntN(12))
		for i := range text {
			text[i] = letters[rnd.IntN(len(letters))]
		}
		s := string(text)
		respelt := respell(rnd, s, pick)
		form := SearchForm(s)
		if got := SearchForm(respelt); got != form {
			t.Fatalf("form of %+q: got %+q, want %+q as of %+q", respelt, got, form, s)
		}
		if again := SearchForm(form); again != form {
			t.Fatalf("form of the form of %+q: got %+q, want %+q", s, again, form)
		}
	}
}

// respell writes s in another case, width or normal form and inserts invisible characters.
func respell(rnd *rand.Rand, s string, pick func([]string) string) string {
	for range 1 + rnd.IntN(4) {
		switch rnd.IntN(6) {
		case 0:
			s = strings.ToUpper(s)
		case 1:
			s = strings.ToLower(s)
		case 2:
			s = norm.NFD.String(s)
		case 3:
			s = norm.NFC.String(s)
		case 4:
			s = width.Widen.String(s)
		case 5:
			var b strings.Builder
			for _, r := range s {
				// Not before a mark: it would belong to another letter.
				if rnd.IntN(3) == 0 && !unicode.Is(unicode.M, r) {
					b.WriteString(pick([]string{"\u200b", "\u200d", "\ufeff", "\u00ad", "\u2067", "\ufe0f", "\u200e", "\x07"}))
				}
				b.WriteRune(r)
			}
			s = b.String()
		}
	}
	return s
}

func BenchmarkSearchForm(b *testing.B) {
	for _, s := range []string{"Lotus Pond Noodles", "Nhà hàng Nam Phương", "荷塘小面"} {
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			for b.Loop() {
				SearchForm(s)
			}
		})
	}
}
