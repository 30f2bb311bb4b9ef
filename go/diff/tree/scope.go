package tree

import (
	"strings"

	"mayfly/diff/fault"
)

// Scope is which part of a file system is looked at: nil is all of it.
type Scope struct {
	// all says that this, and what is below it, was asked for; otherwise it is on the way to what was.
	all   bool
	below map[string]*Scope
}

// NewScope is for absolute paths; all for none.
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

// limits says that not all that is below was asked for.
func (s *Scope) limits() bool { return s != nil && !s.all }
