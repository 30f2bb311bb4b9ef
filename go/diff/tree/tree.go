// Package tree holds the names of two file systems and finds which of them belong together.
package tree

import (
	"bytes"
	"cmp"
	"slices"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
)

const (
	// maxPathBytes of a path. Linux takes paths of up to 4096; deeper directories can be made step by step.
	maxPathBytes = 32 << 10
	// Alone is the counterpart of what has none.
	Alone = -1
	root  = 0
)

// Node is one name of a file. Nodes are numbers in the tree's list: the children of a directory stand together there,
// by name, behind those of directories that come before it.
type Node struct {
	name     uint32
	parent   int32
	first    int32
	children int32
	// Inode is the file's number.
	Inode uint32
	// Counterpart is a node of the other tree, or Alone.
	Counterpart int32
	// What differs from the counterpart, as the reporter knows it.
	What      uint16
	pathBytes uint16
	nameBytes uint8
	kind      uint8
	Renamed   bool
	// Outside of what is looked at: it is on the way there.
	Outside bool
}

// Tree is all names of a file system.
type Tree struct {
	FS    *ext4.FS
	names *Names
	nodes []Node
	// directories by inode: each has one name.
	directories map[uint32]int32
	// scopes are those of nodes that are Outside.
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
	// Inodes that stand together are read together, whatever order the directory has.
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

// limit says how much of a node is looked at.
func (t *Tree) limit(index int32, scope *Scope) {
	if scope.limits() {
		t.nodes[index].Outside = true
		t.scopes[index] = scope
	}
}

// checkChildren: no name is there twice, and no directory has two names, which also ends every loop.
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

// Node by its number.
func (t *Tree) Node(index int32) *Node { return &t.nodes[index] }

// Parent of a node; Alone for the root.
func (t *Tree) Parent(index int32) int32 { return t.nodes[index].parent }

// Len is the number of nodes.
func (t *Tree) Len() int32 { return int32(len(t.nodes)) }

// IsDirectory says whether the node is one.
func (n *Node) IsDirectory() bool { return n.kind == kindDirectory }

// Children of a directory are the nodes from first to end.
func (n *Node) Children() (first, end int32) { return n.first, n.first + n.children }

func (t *Tree) nameOf(node *Node) []byte { return t.names.get(node.name, node.nameBytes) }

// Compare the names of two nodes, of this tree and another.
func (t *Tree) Compare(mine int32, other *Tree, theirs int32) int {
	return bytes.Compare(t.nameOf(&t.nodes[mine]), other.nameOf(&other.nodes[theirs]))
}

// Path from the root, with a slash in front.
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
