package check

import (
	"slices"
	"strings"
)

// ProgramDirectories are the directories of allowed programs, without /usr/local and home directories, where
// users install.
var ProgramDirectories = []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin"}

// program finds an entry by name, or by a path in one of the directories; nil when there is none.
func (t *Table) program(written string) (name, at string, program *Program) {
	directory, name, isPath := cutLast(written, "/")
	if !isPath {
		return written, "", t.Programs[written]
	}
	if !slices.Contains(ProgramDirectories, directory) {
		return name, written, nil
	}
	return name, written, t.Programs[name]
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+len(separator):], true
}

// checkEnvironment allows only listed variables and values, since the effect of a variable depends on its reader.
func (t *Table) checkEnvironment(variables []string) *Refusal {
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		typeName, ok := t.variable(name)
		if !ok {
			return refuse("the variable %q may not be set", name)
		}
		if reason := t.ValueRefusal(typeName, value); reason != "" {
			return refuse("%s: %s", name, reason)
		}
		if len(variable) == len(name) {
			return refuse("the variable %s has no value", name)
		}
	}
	return nil
}

func (t *Table) variable(name string) (typeName string, ok bool) {
	for names, typeName := range t.Environment {
		if slices.Contains(strings.Fields(names), name) {
			return typeName, true
		}
	}
	return "", false
}
