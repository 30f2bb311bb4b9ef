package report

import "mayfly/diff/tree"

// Kinds of changes.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
	Renamed = "renamed"
)

// Visit gets one difference; a missing node is tree.Alone.
type Visit func(kind string, before, after int32) error

func (c *Comparison) walkPair(after int32, visit Visit) error {
	node := c.After.Node(after)
	before := node.Counterpart
	switch {
	case node.Outside:
	case node.Renamed:
		if err := visit(Renamed, before, after); err != nil {
			return err
		}
	case node.What != 0:
		if err := visit(Changed, before, after); err != nil {
			return err
		}
	}
	if !node.IsDirectory() {
		return nil
	}
	old, endOfOld := c.Before.Node(before).Children()
	new, end := node.Children()
	for old < endOfOld || new < end {
		order := 0
		switch {
		case old == endOfOld:
			order = 1
		case new == end:
			order = -1
		default:
			order = c.Before.Compare(old, c.After, new)
		}
		if order <= 0 {
			if err := c.walkOld(old, visit); err != nil {
				return err
			}
			old++
		}
		if order >= 0 {
			if err := c.walkNew(new, visit); err != nil {
				return err
			}
			new++
		}
	}
	return nil
}

// walkOld visits removed nodes; a node with a counterpart is visited there.
func (c *Comparison) walkOld(before int32, visit Visit) error {
	node := c.Before.Node(before)
	if node.Counterpart == tree.Alone {
		if !node.Outside {
			if err := visit(Removed, before, tree.Alone); err != nil {
				return err
			}
		}
		return each(node, func(child int32) error { return c.walkOld(child, visit) })
	}
	return nil
}

func (c *Comparison) walkNew(after int32, visit Visit) error {
	node := c.After.Node(after)
	if node.Counterpart != tree.Alone {
		return c.walkPair(after, visit)
	}
	if !node.Outside {
		if err := visit(Added, tree.Alone, after); err != nil {
			return err
		}
	}
	return each(node, func(child int32) error { return c.walkNew(child, visit) })
}

func each(directory *tree.Node, visit func(child int32) error) error {
	first, end := directory.Children()
	for child := first; child < end; child++ {
		if err := visit(child); err != nil {
			return err
		}
	}
	return nil
}
