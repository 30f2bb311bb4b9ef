package run

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Limit of directory entries per pattern; more are too expensive to expand.
const maxGlobEntries = 200_000

// expander expands patterns as POSIX sh does (Shell Command Language, 2.13), from the root directory.
type expander struct {
	entries int
	limit   int // of names
}

// expand returns the matching names, sorted; none without a match.
func (e *expander) expand(pattern string) ([]string, error) {
	found := []string{""}
	rest := pattern
	if strings.HasPrefix(pattern, "/") {
		found, rest = []string{"/"}, strings.TrimLeft(pattern, "/")
	}
	for rest != "" {
		part, behind, slash := strings.Cut(rest, "/")
		behind = strings.TrimLeft(behind, "/")
		next, err := e.step(found, part, slash)
		if err != nil {
			return nil, err
		}
		found, rest = next, behind
	}
	return found, nil
}

// step appends one component to every name found so far.
func (e *expander) step(bases []string, part string, directory bool) ([]string, error) {
	matcher := patternOf(part)
	var found []string
	for _, base := range bases {
		names := []string{matcher.text()}
		if matcher.special() {
			var err error
			if names, err = e.names(base, matcher); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			info, err := os.Lstat("/" + base + name)
			if directory && err == nil && !info.IsDir() {
				info, err = os.Stat("/" + base + name)
			}
			if err != nil || directory && !info.IsDir() {
				continue
			}
			if directory {
				name += "/"
			}
			if found = append(found, base+name); len(found) > e.limit {
				return nil, fmt.Errorf("a pattern matches more than %d files", e.limit)
			}
		}
	}
	return found, nil
}

func (e *expander) names(base string, matcher pattern) ([]string, error) {
	directory, err := os.Open("/" + base)
	if err != nil {
		return nil, nil // what cannot be read matches nothing
	}
	defer directory.Close()
	all, _ := directory.Readdirnames(maxGlobEntries - e.entries + 1)
	if e.entries += len(all); e.entries > maxGlobEntries {
		return nil, fmt.Errorf("a pattern would look at more than %d files", maxGlobEntries)
	}
	all = slices.DeleteFunc(all, func(name string) bool { return !matcher.matches(name) })
	slices.Sort(all)
	return all, nil
}
