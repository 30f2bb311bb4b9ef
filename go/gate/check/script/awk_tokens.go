package script

import (
	"fmt"
	"slices"
	"strings"
)

type awkKind int

const (
	awkOther awkKind = iota
	awkName
	awkNumber
	awkString
	awkRegexp
)

type awkToken struct {
	kind awkKind
	text string // of names and operators
}

// Longest first. `|`, `@`, backslash and >> are missing, and so refused.
var awkOperators = strings.Fields("**= ** ++ -- += -= *= /= %= ^= == <= >= != && || { } ( ) [ ] ; , + - * / % ^ ! > < ~ ? : = $")

// awkTokens splits a program of one line. It refuses a program whose strings or regular expressions could end
// elsewhere in another implementation.
func awkTokens(program string) ([]awkToken, string) {
	var tokens []awkToken
	for i := 0; i < len(program); {
		char := program[i]
		switch {
		case char == ' ' || char == '\t':
			i++
		case char == '#':
			return tokens, ""
		case char == '"':
			end := endOfQuoted(program, i+1, '"')
			if end < 0 {
				return nil, "a string of awk is not closed"
			}
			tokens = append(tokens, awkToken{kind: awkString})
			i = end + 1
		case isLetter(char):
			start := i
			for i < len(program) && (isLetter(program[i]) || isDigit(program[i])) {
				i++
			}
			tokens = append(tokens, awkToken{awkName, program[start:i]})
		case isDigit(char) || char == '.':
			start := i
			for i < len(program) && (isLetter(program[i]) || isDigit(program[i]) || program[i] == '.') {
				i++
			}
			tokens = append(tokens, awkToken{awkNumber, program[start:i]})
		case char == '/':
			token, next, reason := awkSlash(program, i, tokens)
			if reason != "" {
				return nil, reason
			}
			tokens = append(tokens, token)
			i = next
		default:
			operator := awkOperator(program[i:])
			if operator == "" {
				return nil, fmt.Sprintf("awk may not be given %q here: it starts programs, writes files, or is not understood", program[i:min(i+2, len(program))])
			}
			tokens = append(tokens, awkToken{text: operator})
			i += len(operator)
		}
	}
	return tokens, ""
}

// awkOperator returns an operator; "" for `>>` and anything else.
func awkOperator(rest string) string {
	if strings.HasPrefix(rest, ">>") {
		return ""
	}
	for _, operator := range awkOperators {
		if strings.HasPrefix(rest, operator) {
			return operator
		}
	}
	return ""
}

// awkSlash reads a `/`: a division behind a value, and the start of a regular expression behind an operator or at
// the beginning. It refuses a `/` that depends on the grammar.
func awkSlash(program string, i int, before []awkToken) (awkToken, int, string) {
	var last awkToken
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	switch {
	case last.kind == awkNumber, last.kind == awkName && !slices.Contains(awkKeywords, last.text) && !slices.Contains(awkFunctions, last.text),
		last.text == "]", last.text == ")" && !awkClosesCondition(before):
		if i+1 < len(program) && program[i+1] == '=' {
			return awkToken{}, 0, "what /= of awk is, is not the same for every awk; put a blank between them"
		}
		return awkToken{text: "/"}, i + 1, ""
	case last.kind == awkOther && !slices.Contains([]string{"++", "--", "$", ")"}, last.text), slices.Contains([]string{"print", "case", "return"}, last.text):
		end, sure := endOfRegexp(program, i+1, '/')
		if !sure {
			return awkToken{}, 0, "where a regular expression of awk ends is not the same for every awk; quote a / in brackets with a backslash"
		}
		return awkToken{kind: awkRegexp}, end + 1, ""
	}
	return awkToken{}, 0, "a / of awk could divide or begin a regular expression here"
}

// awkClosesCondition reports whether the last token, a `)`, closes the condition of an if, while, for or switch.
func awkClosesCondition(tokens []awkToken) bool {
	depth := 0
	for i := len(tokens) - 1; i >= 0; i-- {
		switch tokens[i].text {
		case ")":
			depth++
		case "(":
			depth--
		}
		if depth == 0 {
			return i > 0 && slices.Contains([]string{"if", "while", "for", "switch"}, tokens[i-1].text)
		}
	}
	return true
}

func isLetter(char byte) bool {
	return char == '_' || char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z'
}

func isDigit(char byte) bool { return char >= '0' && char <= '9' }
