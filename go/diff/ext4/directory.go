package ext4

import (
	"bytes"
	"encoding/binary"

	"mayfly/diff/fault"
)

const (
	entryHeaderBytes = 8
	// An inline directory starts with the number of its parent, instead of "." and "..".
	inlineParentBytes = 4
)

// Entries visits each name of a directory but "." and "..", in disk order. A hash tree reads like a plain list,
// since its inner nodes look like empty entries. The name is valid only during the call.
func (fs *FS) Entries(inode *Inode, visit func(name []byte, number uint32) error) error {
	if inode.flags&flagInlineData != 0 {
		return fs.inlineEntries(inode, visit)
	}
	content, err := fs.Content(inode)
	if err != nil {
		return err
	}
	if inode.Size%fs.blockBytes != 0 {
		return directoryFault(inode, "has %d bytes, no whole number of blocks", inode.Size)
	}
	block := make([]byte, fs.blockBytes)
	for offset := int64(0); offset < inode.Size; offset += fs.blockBytes {
		at, _ := content.run(offset)
		if at < 0 {
			return directoryFault(inode, "has a hole")
		}
		if err := fs.ReadAt(block, at); err != nil {
			return err
		}
		if err := fs.entriesOf(inode, block, visit); err != nil {
			return err
		}
	}
	return nil
}

func (fs *FS) inlineEntries(inode *Inode, visit func(name []byte, number uint32) error) error {
	data, err := fs.inlineData(inode)
	if err != nil {
		return err
	}
	if len(data) < inlineParentBytes {
		return directoryFault(inode, "has no parent")
	}
	// Its halves, in the inode and in an attribute, are separate lists.
	head := min(len(data), blockFieldBytes)
	if err := fs.entriesOf(inode, data[inlineParentBytes:head], visit); err != nil {
		return err
	}
	return fs.entriesOf(inode, data[head:], visit)
}

func (fs *FS) entriesOf(inode *Inode, list []byte, visit func(name []byte, number uint32) error) error {
	for len(list) > 0 {
		if len(list) < entryHeaderBytes {
			return directoryFault(inode, "ends within an entry")
		}
		number, length := binary.LittleEndian.Uint32(list), entryBytes(list)
		if length < entryHeaderBytes || length%4 != 0 || length > len(list) {
			return directoryFault(inode, "has an entry of %d bytes", length)
		}
		if number != 0 {
			nameBytes := int(list[6])
			if nameBytes == 0 || entryHeaderBytes+nameBytes > length {
				return directoryFault(inode, "has a name of %d bytes in an entry of %d", nameBytes, length)
			}
			name := list[entryHeaderBytes : entryHeaderBytes+nameBytes]
			if string(name) != "." && string(name) != ".." {
				if bytes.ContainsAny(name, "/\x00") {
					return directoryFault(inode, "has the impossible name %s", fault.Quote(name))
				}
				if err := visit(name, number); err != nil {
					return err
				}
			}
		}
		list = list[length:]
	}
	return nil
}

// entryBytes decodes a length: with blocks of 64 KiB its two highest bits are the lowest ones.
func entryBytes(entry []byte) int {
	length := int(binary.LittleEndian.Uint16(entry[4:]))
	if length == 0xffff || length == 0 {
		return 1 << 16
	}
	return length&0xfffc | length&3<<16
}

func directoryFault(inode *Inode, format string, values ...any) error {
	return fault.New(fault.Corrupt, "the directory that is inode %d "+format, append([]any{inode.Number}, values...)...)
}
