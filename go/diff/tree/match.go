package tree

// Match pairs the nodes of two trees. Equal paths of the same type are one file. Among the rest, a directory or
// file is renamed when it is certainly the same; a directory's content follows it.
func Match(before, after *Tree) error {
	m := &matcher{before: before, after: after}
	m.pair(root, root)
	// The list has outer directories before inner ones, so a directory is matched before its content.
	for index := int32(1); index < before.Len(); index++ {
		node := &before.nodes[index]
		if !node.IsDirectory() || node.Counterpart != Alone {
			continue
		}
		other, has := after.directories[node.Inode]
		if !has || after.nodes[other].Counterpart != Alone || node.Outside || after.nodes[other].Outside {
			continue
		}
		if err := m.rename(index, other); err != nil {
			return err
		}
	}
	return m.renameFiles()
}

type matcher struct {
	before, after *Tree
}

// pair makes two directories counterparts, and their children of equal names.
func (m *matcher) pair(here, there int32) {
	work := [][2]int32{{here, there}}
	for len(work) > 0 {
		next := work[len(work)-1]
		work = work[:len(work)-1]
		m.before.nodes[next[0]].Counterpart, m.after.nodes[next[1]].Counterpart = next[1], next[0]
		m.sameNames(next[0], next[1], func(mine, theirs int32) {
			a, b := &m.before.nodes[mine], &m.after.nodes[theirs]
			if a.kind != b.kind || a.Counterpart != Alone || b.Counterpart != Alone {
				return
			}
			a.Counterpart, b.Counterpart = theirs, mine
			if a.IsDirectory() {
				work = append(work, [2]int32{mine, theirs})
			}
		})
	}
}

// sameNames visits every name that both directories have.
func (m *matcher) sameNames(here, there int32, visit func(mine, theirs int32)) {
	mine, endOfMine := m.before.nodes[here].Children()
	theirs, endOfTheirs := m.after.nodes[there].Children()
	for mine < endOfMine && theirs < endOfTheirs {
		switch order := m.before.Compare(mine, m.after, theirs); {
		case order < 0:
			mine++
		case order > 0:
			theirs++
		default:
			visit(mine, theirs)
			mine++
			theirs++
		}
	}
}

// rename pairs two nodes if they are certainly the same file.
func (m *matcher) rename(here, there int32) error {
	a, err := m.before.FS.Inode(m.before.nodes[here].Inode)
	if err != nil {
		return err
	}
	b, err := m.after.FS.Inode(m.after.nodes[there].Inode)
	if err != nil || !a.SameFile(b) {
		return err
	}
	m.after.nodes[there].Renamed = true
	m.pair(here, there)
	return nil
}

// lone is a name without counterpart; several is true for files with more such names, which stay unmatched.
type lone struct {
	node    int32
	several bool
}

func loneFiles(tree *Tree) map[uint32]lone {
	found := map[uint32]lone{}
	for index := range tree.nodes {
		node := &tree.nodes[index]
		if node.IsDirectory() || node.Outside || node.Counterpart != Alone {
			continue
		}
		_, has := found[node.Inode]
		found[node.Inode] = lone{node: int32(index), several: has}
	}
	return found
}

func (m *matcher) renameFiles() error {
	gone := loneFiles(m.before)
	if len(gone) == 0 {
		return nil
	}
	for inode, new := range loneFiles(m.after) {
		old, has := gone[inode]
		if !has || old.several || new.several || m.before.nodes[old.node].kind != m.after.nodes[new.node].kind {
			continue
		}
		if err := m.rename(old.node, new.node); err != nil {
			return err
		}
	}
	return nil
}
