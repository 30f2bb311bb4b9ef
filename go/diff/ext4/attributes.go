package ext4

import (
	"encoding/binary"
	"sort"

	"mayfly/diff/fault"
)

const (
	attributeMagic      = 0xea020000
	attributeBlockBytes = 32 // header of a block
	attributeEntryBytes = 16
	// XATTR_SIZE_MAX of Linux.
	maxValueBytes  = 65536
	maxInlineBytes = 1 << 16
	// maxAllBytes limits the values of one file together: they can be in inodes of their own, and all in the same
	// one.
	maxAllBytes = 1 << 20

	indexSystem = 7
	indexData   = "data"
)

// prefixes are the prefixes of names, which ext4 stores as numbers.
var prefixes = map[byte]string{
	0: "", 1: "user.", 2: "system.posix_acl_access", 3: "system.posix_acl_default", 4: "trusted.", 6: "security.",
	7: "system.", 8: "system.richacl",
}

// Attribute is an extended attribute.
type Attribute struct {
	Name  []byte
	Value []byte
}

// Attributes returns a file's attributes, as in getxattr(2).
func (fs *FS) Attributes(inode *Inode) ([]Attribute, error) {
	var found []Attribute
	all := 0
	err := fs.storedAttributes(inode, func(index byte, name, value []byte) error {
		if index == indexSystem && string(name) == indexData {
			return nil // the content of a small file
		}
		if all += len(value); all > maxAllBytes {
			return fault.New(fault.Limit, "the extended attributes of inode %d are more than %d bytes", inode.Number, maxAllBytes)
		}
		prefix, known := prefixes[index]
		if !known {
			return attributeFault(inode, "is of the unknown kind %d", index)
		}
		if index == 2 || index == 3 {
			list, err := accessList(value)
			if err != nil {
				return attributeFault(inode, "is an access control list that %v", err)
			}
			value = list
		}
		found = append(found, Attribute{Name: append([]byte(prefix), name...), Value: value})
		return nil
	})
	sort.Slice(found, func(i, j int) bool { return string(found[i].Name) < string(found[j].Name) })
	return found, err
}

// inlineData returns the content of a small file or directory, from the inode and an attribute.
func (fs *FS) inlineData(inode *Inode) ([]byte, error) {
	data := append([]byte{}, inode.block[:]...)
	err := fs.storedAttributes(inode, func(index byte, name, value []byte) error {
		if index == indexSystem && string(name) == indexData {
			data = append(data, value...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if inode.Size > int64(len(data)) {
		return nil, fault.New(fault.Corrupt, "inode %d has %d bytes, of which %d are there", inode.Number, inode.Size, len(data))
	}
	return data[:inode.Size], nil
}

type visitAttribute func(index byte, name, value []byte) error

// storedAttributes visits the attributes in the inode, then those in its attribute block.
func (fs *FS) storedAttributes(inode *Inode, visit visitAttribute) error {
	if body := inode.attributes; len(body) >= 4 && binary.LittleEndian.Uint32(body) == attributeMagic {
		if err := fs.attributeList(inode, body[4:], body[4:], visit); err != nil {
			return err
		}
	}
	if inode.attributeBlock == 0 {
		return nil
	}
	block, err := fs.readBlock(inode.attributeBlock)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(block) != attributeMagic || binary.LittleEndian.Uint32(block[8:]) != 1 {
		return attributeFault(inode, "should be in block %d, which is something else", inode.attributeBlock)
	}
	return fs.attributeList(inode, block[attributeBlockBytes:], block, visit)
}

// attributeList reads entries up to the first zero; offsets of values are relative to base.
func (fs *FS) attributeList(inode *Inode, entries, base []byte, visit visitAttribute) error {
	for {
		if len(entries) < 4 || binary.LittleEndian.Uint32(entries) == 0 {
			return nil
		}
		if len(entries) < attributeEntryBytes {
			return attributeFault(inode, "ends within an entry")
		}
		nameBytes := int(entries[0])
		next := attributeEntryBytes + (nameBytes+3)&^3
		if next > len(entries) {
			return attributeFault(inode, "has a name of %d bytes", nameBytes)
		}
		value, err := fs.attributeValue(inode, entries, base)
		if err != nil {
			return err
		}
		name := entries[attributeEntryBytes : attributeEntryBytes+nameBytes]
		if err := visit(entries[1], name, value); err != nil {
			return err
		}
		entries = entries[next:]
	}
}

func (fs *FS) attributeValue(inode *Inode, entry, base []byte) ([]byte, error) {
	offset := int64(binary.LittleEndian.Uint16(entry[2:]))
	holder := binary.LittleEndian.Uint32(entry[4:])
	size := int64(binary.LittleEndian.Uint32(entry[8:]))
	if size > maxValueBytes {
		return nil, attributeFault(inode, "has a value of %d bytes", size)
	}
	if holder == 0 {
		if offset > int64(len(base))-size {
			return nil, attributeFault(inode, "has a value at byte %d of %d", offset, len(base))
		}
		return base[offset : offset+size], nil
	}
	other, err := fs.anyInode(holder)
	if err != nil {
		return nil, err
	}
	if other.flags&flagEAInode == 0 || other.flags&flagInlineData != 0 || other.Type != File || other.Size != size {
		return nil, attributeFault(inode, "is in inode %d, which is something else", holder)
	}
	content, err := fs.Content(other)
	if err != nil {
		return nil, err
	}
	return content.Bytes(maxValueBytes)
}

func attributeFault(inode *Inode, format string, values ...any) error {
	return fault.New(fault.Corrupt, "an extended attribute of inode %d "+format, append([]any{inode.Number}, values...)...)
}
