package machine

import (
	"os"
	"strings"
)

const statusFile = "/var/lib/dpkg/status"

// debian is a package in dpkg's database.
type debian struct {
	stanza string
	fields map[string]string
}

func (p debian) name() string { return p.fields["Package"] }

// source returns the source package; binary packages of one source often require the exact version of each other.
func (p debian) source() string {
	name, _, _ := strings.Cut(p.fields["Source"], " ")
	if name == "" {
		return p.name()
	}
	return name
}

// needs returns groups of alternative package names.
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

// nameOf strips version and architecture.
func nameOf(relation string) string {
	words := strings.Fields(relation)
	if len(words) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(words[0], "(")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// packages are the installed packages.
type packages map[string]debian

// readPackages reads the database of a tree; fs.ErrNotExist without one.
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

// has reports whether a name is a package's, or provided by one.
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
