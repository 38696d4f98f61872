package plan

// String appends a string as gqlgen writes it: what stands in it is valid UTF-8, which is
// left as it is.
func String(out []byte, s string) []byte {
	out = append(out, '"')
	begin := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '\\' && c != '"' {
			continue
		}
		out = append(out, s[begin:i]...)
		switch c {
		case '\t':
			out = append(out, `\t`...)
		case '\r':
			out = append(out, `\r`...)
		case '\n':
			out = append(out, `\n`...)
		case '\\', '"':
			out = append(out, '\\', c)
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		begin = i + 1
	}
	return append(append(out, s[begin:]...), '"')
}

const hex = "0123456789ABCDEF"
