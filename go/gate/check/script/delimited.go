package script

import "strings"

// endOfQuoted returns the next position of `quote` without a backslash before it, or -1.
func endOfQuoted(text string, from int, quote byte) int {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return -1
}

// endOfRegexp returns the end of a regular expression, and whether it is certain: GNU sed ends it at the delimiter
// even within brackets, `/[/]/`, others do not, and in brackets a backslash quotes only for some.
func endOfRegexp(text string, from int, delimiter byte) (int, bool) {
	plain := endOfQuoted(text, from, delimiter)
	return plain, plain >= 0 && plain == endBehindBrackets(text, from, delimiter)
}

func endBehindBrackets(text string, from int, delimiter byte) int {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case delimiter:
			return i
		case '[':
			i = endOfBracket(text, i)
			if i < 0 {
				return -1
			}
		}
	}
	return -1
}

// endOfBracket returns the end of `[...]`, -1 if unclosed. A first `]`, also behind `^`, is literal, and [:class:],
// [.x.], [=x=] are skipped (POSIX, 9.3.5).
func endOfBracket(text string, open int) int {
	i := open + 1
	if i < len(text) && text[i] == '^' {
		i++
	}
	if i < len(text) && text[i] == ']' {
		i++
	}
	for ; i < len(text); i++ {
		if text[i] == ']' {
			return i
		}
		if text[i] == '[' && i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0 {
			kind := text[i+1]
			for i += 2; i+1 < len(text) && (text[i] != kind || text[i+1] != ']'); i++ {
			}
			i++
		}
	}
	return -1
}
