package run

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// element is a part of a pattern: a character, any character, any number of characters, or one of a set.
type element struct {
	kind     byte // 0 a character, '?', '*', '['
	char     rune
	inverted bool
	set      []func(rune) bool
}

// pattern is one component of a path, by Shell Command Language 2.13.1.
type pattern []element

var classes = map[string]func(rune) bool{
	"alpha": unicode.IsLetter, "digit": func(c rune) bool { return c >= '0' && c <= '9' },
	"alnum": func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) },
	"upper": unicode.IsUpper, "lower": unicode.IsLower, "space": unicode.IsSpace, "punct": unicode.IsPunct,
	"blank": func(c rune) bool { return c == ' ' || c == '\t' }, "cntrl": unicode.IsControl,
	"graph": unicode.IsGraphic, "print": unicode.IsPrint,
	"xdigit": func(c rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", c) },
}

func patternOf(part string) pattern {
	var p pattern
	chars := []rune(part)
	for i := 0; i < len(chars); i++ {
		switch c := chars[i]; {
		case c == '\\' && i+1 < len(chars):
			i++
			p = append(p, element{char: chars[i]})
		case c == '*' || c == '?':
			p = append(p, element{kind: byte(c)})
		case c == '[':
			set, end := setOf(chars, i)
			if end < 0 {
				p = append(p, element{char: c})
				continue
			}
			p = append(p, set)
			i = end
		default:
			p = append(p, element{char: c})
		}
	}
	return p
}

// setOf parses `[...]` from its opening bracket; the end is -1 if it is unclosed, and so ordinary text.
func setOf(chars []rune, open int) (element, int) {
	set := element{kind: '['}
	i := open + 1
	if i < len(chars) && (chars[i] == '!' || chars[i] == '^') {
		set.inverted = true
		i++
	}
	for first := true; i < len(chars); first = false {
		if chars[i] == ']' && !first {
			return set, i
		}
		if member, next := classOf(chars, i); member != nil {
			set.set = append(set.set, member)
			i = next
			continue
		}
		low, next := setChar(chars, i)
		high := low
		if next+1 < len(chars) && chars[next] == '-' && chars[next+1] != ']' {
			high, next = setChar(chars, next+1)
		}
		set.set = append(set.set, func(c rune) bool { return c >= low && c <= high })
		i = next
	}
	return element{}, -1
}

func classOf(chars []rune, i int) (func(rune) bool, int) {
	rest := string(chars[i:])
	if !strings.HasPrefix(rest, "[:") {
		return nil, 0
	}
	name, _, closed := strings.Cut(rest[2:], ":]")
	if !closed {
		return nil, 0
	}
	return classes[name], i + utf8.RuneCountInString(name) + 4
}

func setChar(chars []rune, i int) (rune, int) {
	if chars[i] == '\\' && i+1 < len(chars) {
		i++
	}
	return chars[i], i + 1
}

func (p pattern) special() bool {
	for _, e := range p {
		if e.kind != 0 {
			return true
		}
	}
	return false
}

// text returns the text of a pattern without special elements.
func (p pattern) text() string {
	var text strings.Builder
	for _, e := range p {
		text.WriteRune(e.char)
	}
	return text.String()
}

// matches reports whether a whole name matches. Only a literal dot matches a leading dot.
func (p pattern) matches(name string) bool {
	if strings.HasPrefix(name, ".") && (len(p) == 0 || p[0].kind != 0) {
		return false
	}
	chars := []rune(name)
	at, i, star, starAt := 0, 0, -1, 0
	for at < len(chars) {
		switch {
		case i < len(p) && p[i].kind == '*':
			star, starAt = i, at
			i++
		case i < len(p) && p[i].takes(chars[at]):
			i, at = i+1, at+1
		case star >= 0:
			starAt++
			i, at = star+1, starAt
		default:
			return false
		}
	}
	for i < len(p) && p[i].kind == '*' {
		i++
	}
	return i == len(p)
}

func (e element) takes(char rune) bool {
	switch e.kind {
	case 0:
		return e.char == char
	case '?':
		return true
	case '[':
		for _, member := range e.set {
			if member(char) {
				return !e.inverted
			}
		}
		return e.inverted
	}
	return false
}
