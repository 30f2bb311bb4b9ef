// Package tree holds the names of two file systems, and matches them.
package tree

import (
	"bytes"
	"cmp"
	"slices"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
)

const (
	// maxPathBytes limits a path. Linux takes paths of up to 4096 bytes, but deeper directories are possible.
	maxPathBytes = 32 << 10
	// Alone is the counterpart of an unmatched node.
	Alone = -1
	root  = 0
)

// Node is one name of a file. Nodes are indices in the tree's list: the children of a directory are contiguous, by
// name, behind those of earlier directories.
type Node struct {
	name     uint32
	parent   int32
	first    int32
	children int32
	// Inode is the inode number.
	Inode uint32
	// Counterpart is a node of the other tree, or Alone.
	Counterpart int32
	// `What` has the differences from the counterpart.
	What      uint16
	pathBytes uint16
	nameBytes uint8
	kind      uint8
	Renamed   bool
	// Outside is true for a node on the way to the scope.
	Outside bool
}

// Tree holds all names of a file system.
type Tree struct {
	FS    *ext4.FS
	names *Names
	nodes []Node
	// directories maps inodes to nodes: a directory has one name.
	directories map[uint32]int32
	// scopes maps nodes that are Outside to their scopes.
	scopes map[int32]*Scope
}

var kinds = []ext4.Type{ext4.File, ext4.Directory, ext4.Symlink, ext4.Fifo, ext4.Socket, ext4.CharDevice, ext4.BlockDevice}

const kindDirectory = 1

// Load reads all directories in scope, at most maxNames names.
func Load(fs *ext4.FS, names *Names, maxNames int, scope *Scope) (*Tree, error) {
	tree := &Tree{FS: fs, names: names, directories: map[uint32]int32{}, scopes: map[int32]*Scope{}}
	top, err := tree.newNode(nil, 2, Alone)
	if err != nil {
		return nil, err
	}
	if top.kind != kindDirectory {
		return nil, fault.New(fault.Corrupt, "the root is no directory")
	}
	tree.nodes = append(tree.nodes, top)
	tree.directories[top.Inode] = root
	tree.limit(root, scope)
	for index := 0; index < len(tree.nodes); index++ {
		if tree.nodes[index].kind != kindDirectory {
			continue
		}
		if err := tree.addChildren(int32(index), maxNames); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

type entry struct {
	name  uint32
	inode uint32
	bytes uint8
}

func (t *Tree) addChildren(parent int32, maxNames int) error {
	inode, err := t.FS.Inode(t.nodes[parent].Inode)
	if err != nil {
		return err
	}
	var entries []entry
	scope := t.scopes[parent]
	err = t.FS.Entries(inode, func(name []byte, number uint32) error {
		if scope.limits() && scope.below[string(name)] == nil {
			return nil
		}
		if len(t.nodes)+len(entries) >= maxNames {
			return fault.New(fault.Limit, "there are more than %d files", maxNames)
		}
		at, err := t.names.add(name)
		entries = append(entries, entry{name: at, inode: number, bytes: uint8(len(name))})
		return err
	})
	if err != nil {
		return err
	}
	// Reads inodes in disk order, independent of the directory's order.
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.inode, b.inode) })
	first := len(t.nodes)
	for _, one := range entries {
		node, err := t.newNode(t.names.get(one.name, one.bytes), one.inode, parent)
		if err != nil {
			return err
		}
		node.name = one.name
		t.nodes = append(t.nodes, node)
	}
	children := t.nodes[first:]
	slices.SortFunc(children, func(a, b Node) int { return bytes.Compare(t.nameOf(&a), t.nameOf(&b)) })
	t.nodes[parent].first, t.nodes[parent].children = int32(first), int32(len(children))
	if scope.limits() {
		for index := range children {
			t.limit(int32(first+index), scope.below[string(t.nameOf(&children[index]))])
		}
	}
	return t.checkChildren(int32(first), children)
}

// limit sets the scope of a node.
func (t *Tree) limit(index int32, scope *Scope) {
	if scope.limits() {
		t.nodes[index].Outside = true
		t.scopes[index] = scope
	}
}

// checkChildren refuses duplicate names, and directories with two names, which also prevents loops.
func (t *Tree) checkChildren(first int32, children []Node) error {
	for index := range children {
		child := &children[index]
		if index > 0 && bytes.Equal(t.nameOf(child), t.nameOf(&children[index-1])) {
			return fault.New(fault.Corrupt, "the name %s is there twice", fault.Quote(t.Path(first+int32(index))))
		}
		if child.kind != kindDirectory {
			continue
		}
		if other, has := t.directories[child.Inode]; has {
			return fault.New(fault.Corrupt, "the directory %s is also at %s",
				fault.Quote(t.Path(first+int32(index))), fault.Quote(t.Path(other)))
		}
		t.directories[child.Inode] = first + int32(index)
	}
	return nil
}

func (t *Tree) newNode(name []byte, number uint32, parent int32) (Node, error) {
	inode, err := t.FS.Inode(number)
	if err != nil {
		return Node{}, err
	}
	pathBytes := 0
	if parent != Alone {
		pathBytes = int(t.nodes[parent].pathBytes) + 1 + len(name)
	}
	if pathBytes > maxPathBytes {
		return Node{}, fault.New(fault.Limit, "a path has more than %d bytes", maxPathBytes)
	}
	return Node{
		parent: parent, Inode: number, Counterpart: Alone, pathBytes: uint16(pathBytes), nameBytes: uint8(len(name)),
		kind: uint8(slices.Index(kinds, inode.Type)),
	}, nil
}

// Node returns a node by index.
func (t *Tree) Node(index int32) *Node { return &t.nodes[index] }

// Parent returns the parent of a node; Alone for the root.
func (t *Tree) Parent(index int32) int32 { return t.nodes[index].parent }

// Len returns the number of nodes.
func (t *Tree) Len() int32 { return int32(len(t.nodes)) }

// IsDirectory reports whether the node is a directory.
func (n *Node) IsDirectory() bool { return n.kind == kindDirectory }

// Children returns the range of a directory's nodes, without end.
func (n *Node) Children() (first, end int32) { return n.first, n.first + n.children }

func (t *Tree) nameOf(node *Node) []byte { return t.names.get(node.name, node.nameBytes) }

// Compare compares the names of nodes of two trees.
func (t *Tree) Compare(mine int32, other *Tree, theirs int32) int {
	return bytes.Compare(t.nameOf(&t.nodes[mine]), other.nameOf(&other.nodes[theirs]))
}

// Path returns the absolute path of a node.
func (t *Tree) Path(index int32) []byte {
	length := int(t.nodes[index].pathBytes)
	if index == root {
		return []byte("/")
	}
	path := make([]byte, length)
	for ; index != root; index = t.nodes[index].parent {
		name := t.nameOf(&t.nodes[index])
		length -= len(name)
		copy(path[length:], name)
		length--
		path[length] = '/'
	}
	return path
}
