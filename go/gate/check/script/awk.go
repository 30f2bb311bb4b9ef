// Package script checks scripts of sed and programs of awk.
package script

import (
	"fmt"
	"slices"
	"strings"
)

// Functions that only compute (POSIX awk, gawk, mawk). system runs programs; close and fflush serve refused
// features only.
var awkFunctions = strings.Fields(`length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand
	srand tolower toupper gensub strftime systime mktime asort asorti strtonum and or xor lshift rshift compl isarray
	typeof patsplit`)

var awkKeywords = strings.Fields(`BEGIN END BEGINFILE ENDFILE if else while for do in next nextfile exit break continue
	delete print printf getline switch case default return`)

// AwkRefusal allows a program that computes and prints. It refuses everything that starts programs, or reads and writes
// other files than operands: system(), `|`, `|&`, `>` and `>>` behind print, getline with `<`, @include, @load,
// indirect calls, and ARGV, which names files to read (with gawk /inet/tcp/... too). It also refuses user-defined
// functions, so that the meaning of names stays clear.
func AwkRefusal(program string) string {
	tokens, reason := awkTokens(program)
	if reason != "" {
		return reason
	}
	for i, token := range tokens {
		if token.kind == awkName {
			if reason := awkNameRefusal(tokens, i); reason != "" {
				return reason
			}
		}
		if token.text == "print" || token.text == "printf" {
			if reason := awkPrintRefusal(tokens[i+1:]); reason != "" {
				return reason
			}
		}
		if token.text == "getline" {
			if reason := awkGetlineRefusal(tokens[i+1:]); reason != "" {
				return reason
			}
		}
	}
	return ""
}

func awkNameRefusal(tokens []awkToken, i int) string {
	name := tokens[i].text
	if slices.Contains([]string{"system", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "function", "func"}, name) {
		return fmt.Sprintf("awk may not use %s", name)
	}
	called := i+1 < len(tokens) && tokens[i+1].text == "("
	if called && !slices.Contains(awkFunctions, name) && !slices.Contains(awkKeywords, name) {
		return fmt.Sprintf("awk may not call %s", name)
	}
	return ""
}

// awkPrintRefusal refuses `>` between print and the end of its statement, except as a comparison in parentheses.
func awkPrintRefusal(tokens []awkToken) string {
	depth := 0
	for _, token := range tokens {
		switch token.text {
		case "(":
			depth++
		case ")":
			depth--
		case ">":
			if depth == 0 {
				return "print of awk may not write to a file; a comparison needs parentheses there"
			}
		case ";", "}":
			if depth == 0 {
				return ""
			}
		}
		if depth < 0 {
			return ""
		}
	}
	return ""
}

// awkGetlineRefusal allows `getline` and `getline name`, which read the operands; with `<` they would read another
// file.
func awkGetlineRefusal(tokens []awkToken) string {
	for i, token := range tokens {
		if slices.Contains([]string{")", ";", "}", "{"}, token.text) && i <= 1 {
			return ""
		}
		if i > 0 || token.kind != awkName {
			return "getline of awk may only stand alone or with a variable"
		}
	}
	return ""
}
