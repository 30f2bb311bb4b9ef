package report

import (
	"strings"

	"mayfly/diff/tree"
)

// Hide omits paths, and everything below them, from answers. A pattern that ends in * matches a prefix.
func (c *Comparison) Hide(patterns []string) { c.hidden = patterns }

// Walk visits every difference that is not hidden, directories before their content, in byte order of names. A
// rename with one hidden end is an addition or a removal.
func (c *Comparison) Walk(visit Visit) error {
	return c.walkPair(0, func(kind string, before, after int32) error {
		hasBefore := before != tree.Alone && !c.isHidden(c.Before, before)
		hasAfter := after != tree.Alone && !c.isHidden(c.After, after)
		switch {
		case kind == Renamed && hasBefore && !hasAfter:
			return visit(Removed, before, tree.Alone)
		case kind == Renamed && !hasBefore && hasAfter:
			return visit(Added, tree.Alone, after)
		case hasBefore || hasAfter:
			return visit(kind, before, after)
		}
		return nil
	})
}

func (c *Comparison) isHidden(of *tree.Tree, index int32) bool {
	if len(c.hidden) == 0 {
		return false
	}
	path := string(of.Path(index))
	for _, pattern := range c.hidden {
		if begin, isPrefix := strings.CutSuffix(pattern, "*"); isPrefix && strings.HasPrefix(path, begin) {
			return true
		}
		if path == pattern || strings.HasPrefix(path, pattern+"/") {
			return true
		}
	}
	return false
}
