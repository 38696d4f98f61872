// Package jsonbody handles the envelope of a JSON body: the charset of its content type and a
// byte order mark before the text.
package jsonbody

import (
	"bytes"
	"strings"
)

// IsUTF8 reports whether charset is a label of UTF-8 in the WHATWG Encoding standard (section
// 4.2). It ignores case and surrounding spaces. The empty charset is UTF-8, the default of
// JSON.
func IsUTF8(charset string) bool {
	switch strings.ToLower(strings.Trim(charset, " \t\r\n\f")) {
	case "", "utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8":
		return true
	}
	return false
}

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// TrimBOM returns text without a leading byte order mark, which RFC 8259, section 8.1, lets a
// parser ignore. The result shares the memory of text.
func TrimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte(byteOrderMark)) }
