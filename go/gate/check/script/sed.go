package script

import (
	"fmt"
	"strings"
)

// Commands without arguments: they print, delete, copy, join, or end.
const sedPlain = "=dDgGhHnNpPxzF"

// sedScript parses a script of one line, as GNU sed and busybox do. It refuses e (runs programs), r R w W (files),
// s///e and s///w, and scripts that another sed would parse differently.
type sedScript struct {
	text string
	at   int
}

// SedRefusal returns why a script may not run; "" when it may.
func SedRefusal(text string) string {
	s := &sedScript{text: text}
	for {
		s.skip(" \t;")
		if s.at == len(s.text) || s.text[s.at] == '#' {
			return ""
		}
		if reason := s.address(); reason != "" {
			return reason
		}
		if reason := s.command(); reason != "" {
			return reason
		}
	}
}

func (s *sedScript) skip(chars string) {
	for s.at < len(s.text) && strings.IndexByte(chars, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedScript) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// address reads none, one, or two addresses joined by a comma; then an optional `!`.
func (s *sedScript) address() string {
	if reason := s.oneAddress(); reason != "" {
		return reason
	}
	s.skip(" \t")
	if s.peek() == ',' {
		s.at++
		s.skip(" \t")
		if c := s.peek(); c == '+' || c == '~' {
			s.at++
		}
		before := s.at
		if reason := s.oneAddress(); reason != "" {
			return reason
		}
		if s.at == before {
			return "an address of sed is missing"
		}
	}
	s.skip(" \t")
	s.skip("!")
	s.skip(" \t")
	return ""
}

func (s *sedScript) oneAddress() string {
	c := s.peek()
	switch {
	case isDigit(c):
		s.skip("0123456789")
		if s.peek() == '~' {
			s.at++
			s.skip("0123456789")
		}
	case c == '$':
		s.at++
	case c == '/' || c == '\\':
		if c == '\\' {
			s.at++
		}
		if reason := s.regexp(); reason != "" {
			return reason
		}
		s.skip("IM")
	}
	return ""
}

// regexp reads from the delimiter to the closing one.
func (s *sedScript) regexp() string {
	delimiter := s.peek()
	if !isDelimiter(delimiter) {
		return "sed may only have punctuation around a regular expression"
	}
	end, sure := endOfRegexp(s.text, s.at+1, delimiter)
	if !sure {
		return "where a regular expression of sed ends is not sure; it needs a backslash before its delimiter, also in brackets"
	}
	s.at = end + 1
	return ""
}

func (s *sedScript) command() string {
	c := s.peek()
	s.at++
	switch {
	case c == '{' || c == '}':
		if c == '{' {
			return ""
		}
		return s.end()
	case c != 0 && strings.IndexByte(sedPlain, c) >= 0:
		return s.end()
	case c == 'l' || c == 'q' || c == 'Q':
		s.skip(" \t")
		s.skip("0123456789")
		return s.end()
	case c == 'a' || c == 'i' || c == 'c':
		s.at = len(s.text) // text to the end of the line
		return ""
	case c == ':' || c == 'b' || c == 't' || c == 'T':
		s.skip(" \t")
		for isLetter(s.peek()) || isDigit(s.peek()) {
			s.at++
		}
		return s.end()
	case c == 's':
		return s.substitute()
	case c == 'y':
		return s.transliterate()
	}
	return fmt.Sprintf("sed may not do %q", string(rune(c)))
}

// end requires a `;`, a `}`, a comment, or the end behind a command.
func (s *sedScript) end() string {
	s.skip(" \t")
	switch s.peek() {
	case 0, ';', '}', '#':
		return ""
	}
	return fmt.Sprintf("sed may not be given %q", s.text[s.at:])
}

func (s *sedScript) substitute() string {
	delimiter := s.peek()
	if reason := s.regexp(); reason != "" {
		return reason
	}
	if reason := s.replacement(delimiter); reason != "" {
		return reason
	}
	s.skip("gpiImM0123456789")
	return s.end()
}

func (s *sedScript) transliterate() string {
	delimiter := s.peek()
	if !isDelimiter(delimiter) {
		return "sed may only have punctuation around the characters of y"
	}
	s.at++
	if reason := s.replacement(delimiter); reason != "" {
		return reason
	}
	if reason := s.replacement(delimiter); reason != "" {
		return reason
	}
	return s.end()
}

func (s *sedScript) replacement(delimiter byte) string {
	end := endOfQuoted(s.text, s.at, delimiter)
	if end < 0 {
		return "a command of sed is not closed"
	}
	s.at = end + 1
	return ""
}

// isDelimiter reports whether c is ASCII punctuation without another meaning in a script.
func isDelimiter(c byte) bool {
	return c != 0 && strings.IndexByte("/|,:#@%!+_=~", c) >= 0
}
