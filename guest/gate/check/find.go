package check

import "strings"

// readFind is find(1): options, starting points, then an expression of tests and actions of the table. Where the
// starting points end is as GNU find has it: at the first argument that starts with `-`, or is `(`, `)`, `!` or `,`.
func (r *reader) readFind() *Refusal {
	i := 0
	for i < len(r.args) && oneOf(r.args[i].Text, "-H", "-L", "-P") {
		i++
	}
	for i < len(r.args) && !beginsExpression(r.args[i].Text) {
		if reason := r.table.ValueRefusal("path", r.args[i].Text); reason != "" {
			return refuse("find: %s", reason)
		}
		r.types[i], r.repeated[i] = "path", true
		i++
	}
	for i < len(r.args) {
		name := r.args[i].Text
		next, refusal := r.wholeOption(i, name, len(r.args))
		if refusal != nil {
			return refusal
		}
		i = next
	}
	return nil
}

func beginsExpression(text string) bool {
	return strings.HasPrefix(text, "-") || strings.HasPrefix(text, "(") || strings.HasPrefix(text, ")") ||
		strings.HasPrefix(text, "!") || strings.HasPrefix(text, ",")
}
