package ext4

import (
	"bytes"

	"mayfly/diff/fault"
)

const maxLookups = 1024

// Lookup returns the inode at a path from the root, without following symbolic links.
func (fs *FS) Lookup(path []byte) (*Inode, error) {
	inode, err := fs.Inode(rootInode)
	if err != nil {
		return nil, err
	}
	names := bytes.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(names) > maxLookups {
		return nil, fault.New(fault.BadRequest, "the path has more than %d names", maxLookups)
	}
	for _, name := range names {
		if inode.Type != Directory {
			return nil, notFound(path)
		}
		next := uint32(0)
		err := fs.Entries(inode, func(other []byte, number uint32) error {
			if bytes.Equal(name, other) {
				next = number
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if next == 0 {
			return nil, notFound(path)
		}
		if inode, err = fs.Inode(next); err != nil {
			return nil, err
		}
	}
	return inode, nil
}

func notFound(path []byte) error {
	return fault.New(fault.NotFound, "there is no %s", fault.Quote(path))
}
