package tree

// nextField cuts the first field off a text whose fields blanks, tabs and line
// ends part. The field is empty when there is none.
func nextField(b []byte) (field, rest []byte) {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	n := 0
	for n < len(b) && !isSpace(b[n]) {
		n++
	}
	return b[:n], b[n:]
}

// cutLine cuts the first line off.
func cutLine(b []byte) (line, rest []byte) {
	for i, c := range b {
		if c == '\n' {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// atoi reads the digits at the start of b.
func atoi(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// hex reads a number of up to 16 hexadecimal digits.
func hex(b []byte) (uint64, bool) {
	var n uint64
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, 0 < len(b) && len(b) <= 16
}

// appendDecimal appends a number that is not negative.
func appendDecimal(b []byte, n int) []byte {
	if n >= 10 {
		b = appendDecimal(b, n/10)
	}
	return append(b, byte('0'+n%10))
}
