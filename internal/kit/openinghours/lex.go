package openinghours

import (
	"fmt"
	"strings"
)

type kind uint8

const (
	end kind = iota
	numeral
	word
	comment
	symbol
)

// A token is a part of the text, in lower case. A comment has no quotes, a symbol has one character
// or is "||".
type token struct {
	kind kind
	text string
}

// spellings replaces characters that keyboards and web pages produce for those of the notation.
var spellings = strings.NewReplacer(
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "–", "-", "—", "-", "−", "-", "－", "-", "～", "-", "〜", "-",
	"a.m.", "am", "p.m.", "pm", "：", ":", "；", ";", "，", ",", "、", ",", "＋", "+",
	"“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`,
	"\u00a0", " ", "\u2009", " ", "\u202f", " ", "\u3000", " ", "\t", " ", "\r", " ", "\n", " ",
)

// lex splits the text into tokens and ends them with two tokens of the kind end.
func lex(text string) ([]token, error) {
	text = spellings.Replace(strings.ToLower(text))
	var tokens []token
	for text != "" {
		c, n := text[0], 1
		switch {
		case c == ' ':
		case isDigit(c):
			n = prefix(text, isDigit)
			tokens = append(tokens, token{numeral, text[:n]})
		case isLetter(c):
			n = prefix(text, isLetter)
			tokens = append(tokens, token{word, text[:n]})
		case c == '"':
			inside, _, ok := strings.Cut(text[1:], `"`)
			if !ok {
				return nil, fmt.Errorf("%w: unclosed quotation mark", ErrUnknown)
			}
			n = len(inside) + 2
			tokens = append(tokens, token{comment, inside})
		case strings.HasPrefix(text, "||"):
			n = 2
			tokens = append(tokens, token{symbol, "||"})
		case strings.IndexByte("-,;:+/[]().&", c) >= 0:
			tokens = append(tokens, token{symbol, string(c)})
		default:
			return nil, fmt.Errorf("%w: unexpected %.12q", ErrUnknown, text)
		}
		text = text[n:]
	}
	return append(tokens, token{}, token{}), nil
}

func prefix(text string, in func(byte) bool) int {
	n := 0
	for n < len(text) && in(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

var (
	weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	months   = []string{
		"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december",
	}
	// sunTimes approximates the events of the sun, in minutes after midnight.
	sunTimes = map[string]int{"dawn": 5*60 + 30, "sunrise": 6 * 60, "sunset": 18 * 60, "dusk": 18*60 + 30}
)

// named returns the index of the only name that begins with the word, at least shortest letters.
func named(t token, names []string, shortest int) (int, bool) {
	if t.kind != word || len(t.text) < shortest {
		return 0, false
	}
	for i, name := range names {
		if strings.HasPrefix(name, t.text) || t.text == name+"s" {
			return i, true
		}
	}
	return 0, false
}
