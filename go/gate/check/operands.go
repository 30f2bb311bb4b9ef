package check

import "strings"

// countOf splits an operand of the table into its type and count: "file", "file?" or "file...".
func countOf(operand string) (typeName, count string) {
	if base, ok := strings.CutSuffix(operand, "..."); ok {
		return base, "..."
	}
	if base, ok := strings.CutSuffix(operand, "?"); ok {
		return base, "?"
	}
	return operand, ""
}

// operand enters a subcommand where one is due; else records an operand for finish.
func (r *reader) operand(i int) *Refusal {
	if verbs := r.scope().Verbs; verbs != nil {
		text := r.args[i].Text
		for names, arguments := range verbs {
			for _, name := range strings.Fields(names) {
				if name == text {
					r.enter(arguments)
					return nil
				}
			}
		}
		return refuse("%s may not do %q", r.program, text)
	}
	r.operands = append(r.operands, i)
	return nil
}

// finish checks the operands, and that required options are present.
func (r *reader) finish() *Refusal {
	for _, scope := range r.scopes {
		for _, names := range scope.Require {
			if !r.sawOneOf(names) {
				return refuse("%s is allowed only with %s", r.program, strings.Join(strings.Fields(names), " or "))
			}
		}
	}
	scope := r.scope()
	if scope.Verbs != nil {
		if !scope.VerbOptional {
			return refuse("%s needs a subcommand", r.program)
		}
		return r.match(nil)
	}
	allowed := scope.Operands
	for names, operands := range scope.OperandsWith {
		if r.sawOneOf(names) {
			allowed = operands
		}
	}
	return r.match(allowed)
}

func (r *reader) sawOneOf(names string) bool {
	for _, name := range strings.Fields(names) {
		if r.seen[name] {
			return true
		}
	}
	return false
}

// match assigns a type to every operand.
func (r *reader) match(allowed []string) *Refusal {
	next := 0
	for _, position := range r.operands {
		if next >= len(allowed) {
			return refuse("%q may not be given to %s", r.args[position].Text, r.program)
		}
		typeName, count := countOf(allowed[next])
		if reason := r.table.ValueRefusal(typeName, r.args[position].Text); reason != "" {
			return refuse("%s: %s", r.program, reason)
		}
		r.types[position] = typeName
		if count == "..." {
			r.repeated[position] = true
		} else {
			next++
		}
	}
	if r.items {
		return r.matchItems(allowed, next)
	}
	if next < len(allowed) {
		if typeName, count := countOf(allowed[next]); count == "" {
			return refuse("%s needs an operand more: a %s", r.program, typeName)
		}
	}
	return nil
}

// matchItems checks that only the repeated operand remains for xargs' items, which come last, and that its type
// accepts any text.
func (r *reader) matchItems(allowed []string, next int) *Refusal {
	if next == len(allowed)-1 {
		if typeName, count := countOf(allowed[next]); count == "..." && unseen(typeName) {
			return nil
		}
	}
	return refuse("%s may not get its operands from xargs here", r.program)
}
