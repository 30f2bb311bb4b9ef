package report

import (
	"strings"

	"mayfly/diff/tree"
)

// Hide leaves paths, and what is below them, out of every answer. A pattern that ends in * stands for all that begin so.
func (c *Comparison) Hide(patterns []string) { c.hidden = patterns }

// Walk calls back for every difference that is not hidden, directories before what is in them and names in the order of
// their bytes. A rename with one hidden end is an addition or a removal.
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
