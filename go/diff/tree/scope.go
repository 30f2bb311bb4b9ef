package tree

import (
	"strings"

	"mayfly/diff/fault"
)

// Scope is the compared part of a file system; nil is all of it.
type Scope struct {
	// all is true when this node and everything below it are in scope; else it is on the way.
	all   bool
	below map[string]*Scope
}

// NewScope returns the scope of absolute paths; nil for none.
func NewScope(paths [][]byte) (*Scope, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	scope := &Scope{}
	for _, path := range paths {
		if len(path) == 0 || path[0] != '/' {
			return nil, fault.New(fault.BadRequest, "%s does not begin with a slash", fault.Quote(path))
		}
		scope.add(strings.FieldsFunc(string(path), func(r rune) bool { return r == '/' }))
	}
	return scope, nil
}

func (s *Scope) add(names []string) {
	at := s
	for _, name := range names {
		if at.below == nil {
			at.below = map[string]*Scope{}
		}
		next := at.below[name]
		if next == nil {
			next = &Scope{}
			at.below[name] = next
		}
		at = next
	}
	at.all = true
}

// limits reports whether the scope excludes something below.
func (s *Scope) limits() bool { return s != nil && !s.all }
