package ext4

import (
	"encoding/binary"

	"mayfly/diff/fault"
)

const (
	extentMagic      = 0xf30a
	extentEntryBytes = 12
	maxExtentDepth   = 5
	// Longer extents are preallocated, and read as zeros.
	maxWrittenExtent = 32768
	// Limit of logical blocks: an entry has 32 bits for the number.
	endOfLogical = 1 << 32
)

func (s *segments) extents(inode *Inode) error {
	depth := int(binary.LittleEndian.Uint16(inode.block[6:]))
	if depth > maxExtentDepth {
		return s.extentFault("is %d deep", depth)
	}
	return s.extentNode(inode.block[:], depth, 0, endOfLogical)
}

// extentNode reads a node whose entries must be in [from, to), so that no node adds blocks twice.
func (s *segments) extentNode(node []byte, depth int, from, to int64) error {
	count, room := int(binary.LittleEndian.Uint16(node[2:])), len(node)/extentEntryBytes-1
	switch {
	case binary.LittleEndian.Uint16(node) != extentMagic:
		return s.extentFault("has a node without its mark")
	case int(binary.LittleEndian.Uint16(node[6:])) != depth:
		return s.extentFault("has a node of another depth than its place")
	case count > room:
		return s.extentFault("has a node with %d entries, and room for %d", count, room)
	}
	if depth == 0 {
		return s.extentLeaf(node, count, from, to)
	}
	for index := 1; index <= count; index++ {
		entry := node[index*extentEntryBytes:]
		begin, end := int64(binary.LittleEndian.Uint32(entry)), to
		if index < count {
			end = int64(binary.LittleEndian.Uint32(node[(index+1)*extentEntryBytes:]))
		}
		if begin < from || end <= begin || end > to {
			return s.extentFault("is not in order")
		}
		physical := int64(binary.LittleEndian.Uint32(entry[4:])) | int64(binary.LittleEndian.Uint16(entry[8:]))<<32
		child, err := s.fs.readBlock(physical)
		if err != nil {
			return err
		}
		if err := s.extentNode(child, depth-1, begin, end); err != nil {
			return err
		}
		from = end
	}
	return nil
}

func (s *segments) extentLeaf(node []byte, count int, from, to int64) error {
	for index := 1; index <= count; index++ {
		entry := node[index*extentEntryBytes:]
		logical := int64(binary.LittleEndian.Uint32(entry))
		length := int64(binary.LittleEndian.Uint16(entry[4:]))
		physical := int64(binary.LittleEndian.Uint32(entry[8:])) | int64(binary.LittleEndian.Uint16(entry[6:]))<<32
		written := length <= maxWrittenExtent
		if !written {
			length -= maxWrittenExtent
		}
		if length == 0 || logical < from || logical+length > to {
			return s.extentFault("is not in order")
		}
		from = logical + length
		if !written {
			continue
		}
		if err := s.add(logical, physical, length); err != nil {
			return err
		}
	}
	return nil
}

func (s *segments) extentFault(format string, values ...any) error {
	return fault.New(fault.Corrupt, "the extent tree of inode %d "+format, append([]any{s.inode}, values...)...)
}
