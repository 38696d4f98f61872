package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// SearchForm returns the form of s that searches compare. Texts that look the same to readers
// have the same form. It is not for display.
//
// It follows the search term folding of Unicode Technical Report 30, as Lucene does, and
// ignores:
//
//   - case, by full case folding: ß is ss, ς is σ. All four Turkish i are i.
//   - width and compatibility variants: ｆｕｌｌ, ﬁ, ｶﾞ, ①, ²; digits of all
//     scripts are 0 to 9.
//   - accents and other optional marks: those of Latin, Greek and Cyrillic letters, Hebrew
//     points, Arabic and Syriac vowel signs. Letters with a mark that do not decompose lose it
//     too (đ, ø, ł, ғ), and ligatures are spelt out (æ, œ, þ). Marks that a word needs stay:
//     vowel signs of Indic and Southeast Asian scripts, nukta and virama, dakuten (か is not が).
//   - invisible characters: zero-width characters, direction marks, variation
//     selectors, soft hyphens, fillers, control characters.
//   - blanks and punctuation: "Joe's" is "Joe’s" and "Joes"; "Coca‑Cola" is
//     "coca-cola", "coca cola" and "cocacola". Blanks between Chinese and Latin
//     words do not matter. The signs & % # @ and symbols such as ☕ count.
//
// A text that has only punctuation keeps it, in plain characters. The form is empty if s
// shows nothing. SearchForm is idempotent.
func SearchForm(s string) string {
	s = foldRunes(norm.NFKD.String(foldRunes(s)))
	// Lower case last: folding maps Cherokee letters to upper case.
	s = strings.ToLower(cases.Fold().String(s))
	s = foldRunes(norm.NFKD.String(s)) // case folding can compose and decompose
	if bare := strings.Map(dropPunctuation, s); bare != "" {
		s = bare
	}
	return norm.NFC.String(s) // Hangul and kana
}

// foldRunes removes characters that do not count and replaces those with a plain equivalent.
func foldRunes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r < unicode.MaxASCII:
			if r > ' ' {
				b.WriteByte(byte(r))
			}
		case isDakuten(r), r >= '一' && r <= '\u9fff': // the second for speed
			b.WriteRune(r)
		case !unicode.IsLetter(r) && (isInvisible(r) || isOptionalMark(r)), isFiller(r):
		case unicode.Is(unicode.Nd, r):
			digit, _ := Digit(r)
			b.WriteByte(digit)
		default:
			if plain, ok := plainForm(r); ok {
				b.WriteString(plain)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// isDakuten reports whether r is a mark that turns one kana into another, combining or not.
func isDakuten(r rune) bool { return r >= '\u3099' && r <= '\u309c' }

// isInvisible reports whether r is a blank, a control character, a default ignorable, or a
// trademark or copyright sign.
func isInvisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || IsIgnorable(r) ||
		r == '™' || r == '℠' || r == '®' || r == '©' || r == '℗' // searches rarely include them
}

// isOptionalMark reports whether words are also written without the mark r. Marks of several
// scripts are "inherited".
func isOptionalMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && unicode.In(r,
		unicode.Inherited, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Coptic)
}

// Digit returns the ASCII digit of a decimal digit of any script. It returns false for every
// other character. Unicode assigns digits in runs of ten.
func Digit(r rune) (digit byte, ok bool) {
	for _, run := range unicode.Nd.R16 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return '0' + byte((r-rune(run.Lo))%10), true
		}
	}
	for _, run := range unicode.Nd.R32 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return '0' + byte((r-rune(run.Lo))%10), true
		}
	}
	return 0, false
}

func dropPunctuation(r rune) rune {
	switch r {
	case '&', '%', '#', '@', '‰', '‱':
		return r
	case '~', '|', '^', '`', '¦', '∣', '∙', '⋅': // symbols used as separators or quotes
		return -1
	}
	if unicode.IsPunct(r) || unicode.Is(unicode.Sk, r) {
		return -1
	}
	return r
}

// plainForm returns the lower-case keyboard spelling of r, and true, if it differs from the
// decomposition of r.
func plainForm(r rune) (string, bool) {
	switch r {
	case '’', '‘', '‚', '‛', '′', '‵', '‹', '›', '´', 'ʹ', 'ʻ', 'ʼ', 'ʽ', 'ˈ', 'ˊ', 'ˋ', '՚', '׳', 'Ꞌ', 'ꞌ', '`':
		return "'", true
	case '“', '”', '„', '‟', '«', '»', '″', '‶', 'ʺ', '״', '〝', '〞', '〟', 'ˮ':
		return `"`, true
	case '−', '⁻', '₋', '˗', '〜', '∼', '～', '⁓':
		return "-", true
	case '⁄', '∕', '⧸':
		return "/", true
	case '٪':
		return "%", true
	case 'ـ': // Arabic tatweel
		return "", true
	}
	if unicode.Is(unicode.Pd, r) {
		return "-", true
	}
	return plainLetter(r)
}

// plainLetter returns the usual spelling of a letter that Unicode does not decompose.
func plainLetter(r rune) (string, bool) {
	switch unicode.ToLower(r) {
	// Latin
	case 'æ':
		return "ae", true
	case 'œ':
		return "oe", true
	case 'þ':
		return "th", true
	case 'ƀ', 'ɓ', 'ƃ':
		return "b", true
	case 'ƈ', 'ȼ':
		return "c", true
	case 'đ', 'ð', 'ɖ', 'ɗ', 'ƌ':
		return "d", true
	case 'ə', 'ɇ':
		return "e", true
	case 'ƒ':
		return "f", true
	case 'ǥ', 'ɠ':
		return "g", true
	case 'ħ', 'ⱨ':
		return "h", true
	case 'ı', 'ɨ', 'ɩ':
		return "i", true
	case 'ɉ':
		return "j", true
	case 'ƙ', 'ĸ', 'ⱪ':
		return "k", true
	case 'ł', 'ƚ', 'ɫ', 'ⱡ':
		return "l", true
	case 'ŋ', 'ɲ', 'ƞ':
		return "n", true
	case 'ø', 'ɵ', 'ɔ':
		return "o", true
	case 'ƥ', 'ᵽ':
		return "p", true
	case 'ɍ', 'ɽ':
		return "r", true
	case 'ȿ', 'ʂ':
		return "s", true
	case 'ŧ', 'ƭ', 'ʈ', 'ⱦ':
		return "t", true
	case 'ʉ':
		return "u", true
	case 'ʋ':
		return "v", true
	case 'ⱳ':
		return "w", true
	case 'ƴ', 'ɏ':
		return "y", true
	case 'ƶ', 'ȥ', 'ⱬ':
		return "z", true
	// Cyrillic
	case 'ґ', 'ғ', 'ҕ':
		return "г", true
	case 'ҙ':
		return "з", true
	case 'җ':
		return "ж", true
	case 'қ', 'ҝ', 'ҟ', 'ҡ':
		return "к", true
	case 'ң':
		return "н", true
	case 'ө':
		return "о", true
	case 'ҫ':
		return "с", true
	case 'ҭ':
		return "т", true
	case 'ү', 'ұ':
		return "у", true
	case 'ҳ', 'һ':
		return "х", true
	case 'ҷ', 'ҹ':
		return "ч", true
	// Arabic: the same letter on Persian, Urdu and Egyptian keyboards
	case 'ی', 'ى':
		return "ي", true
	case 'ک':
		return "ك", true
	case 'ة', 'ہ':
		return "ه", true
	}
	return "", false
}
