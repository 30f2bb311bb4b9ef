package check

import "strings"

// readFind reads arguments of find(1): options, starting points, then an expression of tests and actions of the
// table. As in GNU find, starting points end at the first argument that starts with `-`, or is `(`, `)`, `!` or
// `,`.
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
	for ; i < len(r.args); i++ {
		name := r.args[i].Text
		known, ok := r.options[name]
		if !ok {
			return r.unknown(name)
		}
		if known.kind == flag {
			continue
		}
		// Every find has the same number of values per test, so a value may start with `-`: -mtime -1.
		if i++; i == len(r.args) {
			return refuse("%s of find needs a value", name)
		}
		if refusal := r.value(name, known.typeName, r.args[i].Text); refusal != nil {
			return refusal
		}
	}
	return nil
}

func beginsExpression(text string) bool {
	return strings.HasPrefix(text, "-") || strings.HasPrefix(text, "(") || strings.HasPrefix(text, ")") ||
		strings.HasPrefix(text, "!") || strings.HasPrefix(text, ",")
}
