// Package report writes the differences between two file systems.
package report

import (
	"bytes"
	"cmp"
	"slices"

	"mayfly/diff/ext4"
	"mayfly/diff/meter"
	"mayfly/diff/tree"
)

// Aspects in which a file can differ, one bit each.
const (
	content = 1 << iota
	target
	device
	mode
	owner
	attributes
	modified
)

var whatNames = []string{"content", "target", "device", "mode", "owner", "xattrs", "mtime"}

func namesOf(what uint16) []string {
	names := []string{}
	for bit, name := range whatNames {
		if what&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Comparison is two file systems with matched trees.
type Comparison struct {
	Before, After *tree.Tree
	meter         *meter.Meter
	// compared caches compared contents, so that a file with many names is read once.
	compared map[[2]uint32]bool
	digests  map[digestKey]string
	// hashable is the remaining limit of bytes to hash, or to write to an archive.
	hashable int64
	// hidden are patterns of paths that answers omit.
	hidden []string
}

// Compare finds the differences of every pair. It reads inodes in disk order.
func Compare(before, after *tree.Tree, meter *meter.Meter, hashable int64) (*Comparison, error) {
	c := &Comparison{
		Before: before, After: after, meter: meter, hashable: hashable,
		compared: map[[2]uint32]bool{}, digests: map[digestKey]string{},
	}
	var pairs []int32
	for index := range after.Len() {
		if node := after.Node(index); node.Counterpart != tree.Alone && !node.Outside {
			pairs = append(pairs, index)
		}
	}
	slices.SortFunc(pairs, func(a, b int32) int { return cmp.Compare(after.Node(a).Inode, after.Node(b).Inode) })
	for _, index := range pairs {
		what, err := c.pair(index)
		if err != nil {
			return nil, err
		}
		after.Node(index).What = what
	}
	return c, nil
}

func (c *Comparison) pair(index int32) (uint16, error) {
	node := c.After.Node(index)
	before, err := c.Before.FS.Inode(c.Before.Node(node.Counterpart).Inode)
	if err != nil {
		return 0, err
	}
	after, err := c.After.FS.Inode(node.Inode)
	if err != nil {
		return 0, err
	}
	what := uint16(0)
	set := func(bit uint16, differs bool) {
		if differs {
			what |= bit
		}
	}
	set(mode, before.Mode != after.Mode)
	set(owner, before.UID != after.UID || before.GID != after.GID)
	set(device, before.Device != after.Device)
	// Changes of names imply a directory's new modification time, which is omitted.
	set(modified, !before.Modified.Equal(after.Modified) && !(after.Type == ext4.Directory && c.otherNames(index)))
	same, err := c.sameContent(before, after)
	if err != nil {
		return 0, err
	}
	if after.Type == ext4.Symlink {
		set(target, !same)
	} else {
		set(content, !same)
	}
	same, err = c.sameAttributes(before, after)
	set(attributes, !same)
	return what, err
}

// otherNames reports whether the names in a directory, or their files, have changed.
func (c *Comparison) otherNames(directory int32) bool {
	counterpart := c.After.Node(directory).Counterpart
	first, end := c.After.Node(directory).Children()
	old, endOfOld := c.Before.Node(counterpart).Children()
	if end-first != endOfOld-old {
		return true
	}
	for index := first; index < end; index++ {
		child := c.After.Node(index)
		if child.Counterpart == tree.Alone || child.Renamed {
			return true
		}
		if c.Before.Node(child.Counterpart).Inode != child.Inode {
			return true
		}
	}
	return false
}

func (c *Comparison) sameContent(before, after *ext4.Inode) (bool, error) {
	if after.Type != ext4.File && after.Type != ext4.Symlink {
		return true, nil
	}
	if before.Size != after.Size {
		return false, nil
	}
	key := [2]uint32{before.Number, after.Number}
	if same, known := c.compared[key]; known {
		return same, nil
	}
	old, err := c.Before.FS.Content(before)
	if err != nil {
		return false, err
	}
	new, err := c.After.FS.Content(after)
	if err != nil {
		return false, err
	}
	same, err := old.Equal(new, c.meter.Charge)
	if after.Links > 1 || before.Links > 1 || !same {
		c.compared[key] = same
	}
	return same, err
}

func (c *Comparison) sameAttributes(before, after *ext4.Inode) (bool, error) {
	old, err := c.Before.FS.Attributes(before)
	if err != nil {
		return false, err
	}
	new, err := c.After.FS.Attributes(after)
	return slices.EqualFunc(old, new, func(a, b ext4.Attribute) bool {
		return bytes.Equal(a.Name, b.Name) && bytes.Equal(a.Value, b.Value)
	}), err
}
