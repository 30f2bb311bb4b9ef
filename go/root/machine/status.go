package machine

import (
	"os"
	"strings"
)

const statusFile = "/var/lib/dpkg/status"

// debian is a package as dpkg's own record has it.
type debian struct {
	stanza string
	fields map[string]string
}

func (p debian) name() string { return p.fields["Package"] }

// source is what it was built of; packages of one source often want each other's very version.
func (p debian) source() string {
	name, _, _ := strings.Cut(p.fields["Source"], " ")
	if name == "" {
		return p.name()
	}
	return name
}

// needs are groups of names of which one each must be there.
func (p debian) needs(field string) [][]string {
	var groups [][]string
	for _, group := range strings.Split(p.fields[field], ",") {
		var names []string
		for _, each := range strings.Split(group, "|") {
			if name := nameOf(each); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			groups = append(groups, names)
		}
	}
	return groups
}

// nameOf is without version and architecture.
func nameOf(relation string) string {
	words := strings.Fields(relation)
	if len(words) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(words[0], "(")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// packages are those that are installed.
type packages map[string]debian

// read takes them from the record in a tree; none when there is no record.
func readPackages(tree string) (packages, error) {
	text, err := os.ReadFile(tree + statusFile)
	if err != nil {
		return nil, err
	}
	found := packages{}
	for _, stanza := range strings.Split(string(text), "\n\n") {
		fields := map[string]string{}
		for _, line := range strings.Split(stanza, "\n") {
			key, value, isField := strings.Cut(line, ":")
			if isField && !strings.HasPrefix(line, " ") {
				fields[key] = strings.TrimSpace(value)
			}
		}
		if strings.HasSuffix(fields["Status"], " installed") {
			found[fields["Package"]] = debian{stanza, fields}
		}
	}
	return found, nil
}

// has says whether a name is that of a package, or of what one provides.
func (all packages) has(name string) bool {
	_, isThere := all.providing(name)
	return isThere
}

func (all packages) providing(name string) (debian, bool) {
	if found, isThere := all[name]; isThere {
		return found, true
	}
	for _, each := range all {
		for _, group := range each.needs("Provides") {
			if group[0] == name {
				return each, true
			}
		}
	}
	return debian{}, false
}
