package ext4

import (
	"encoding/binary"

	"mayfly/diff/disk"
	"mayfly/diff/fault"
)

// ReadAt fills p with bytes of the volume after the replay of the journal.
func (fs *FS) ReadAt(p []byte, offset int64) error {
	if len(fs.overlay) == 0 {
		return fs.volume.ReadAt(p, offset)
	}
	for len(p) > 0 {
		within := offset % fs.blockBytes
		n := min(int64(len(p)), fs.blockBytes-within)
		newer, has := fs.overlay[offset/fs.blockBytes]
		at := offset
		if has {
			at = newer.at*fs.blockBytes + within
		}
		if err := fs.volume.ReadAt(p[:n], at); err != nil {
			return err
		}
		if has && newer.escaped {
			newer.unescape(p[:n], within)
		}
		p, offset = p[n:], offset+n
	}
	return nil
}

// Locate returns the place of a byte; `told` is false when a place alone cannot describe it.
func (fs *FS) Locate(offset int64) (place disk.Place, length int64, told bool, err error) {
	if len(fs.overlay) == 0 {
		place, length, err = fs.volume.Locate(offset)
		return place, length, true, err
	}
	within := offset % fs.blockBytes
	length = fs.blockBytes - within
	newer, has := fs.overlay[offset/fs.blockBytes]
	if has && newer.escaped {
		return disk.Nowhere, length, false, nil
	}
	if has {
		offset = newer.at*fs.blockBytes + within
	}
	place, contiguous, err := fs.volume.Locate(offset)
	return place, min(length, contiguous), true, err
}

// placeOf is Locate for an offset that is -1 in a hole.
func (fs *FS) placeOf(offset, length int64) (disk.Place, int64, bool, error) {
	if offset < 0 {
		return disk.Nowhere, length, true, nil
	}
	return fs.Locate(offset)
}

// readBlock returns a whole block, newly allocated.
func (fs *FS) readBlock(number int64) ([]byte, error) {
	if err := fs.checkBlocks(number, 1); err != nil {
		return nil, err
	}
	block := make([]byte, fs.blockBytes)
	return block, fs.ReadAt(block, number*fs.blockBytes)
}

// checkBlocks checks that block numbers are in the file system; block 0 is never data.
func (fs *FS) checkBlocks(first, count int64) error {
	if first <= 0 || first < fs.firstDataBlock || count <= 0 || count > fs.blocks || first > fs.blocks-count {
		return fault.New(fault.Corrupt, "blocks %d to %d are not in the file system of %d", first, first+count-1, fs.blocks)
	}
	return nil
}

// inodeTable returns the first block of a group's inodes.
func (fs *FS) inodeTable(group int64) (int64, error) {
	perBlock := fs.blockBytes / fs.descBytes
	// With clusters, the first data block may be 0 although the superblock is in block 1.
	superblock := superblockAt / fs.blockBytes
	descriptors := superblock + 1 + group/perBlock
	if fs.incompat&incompatMetaBG != 0 && group/perBlock >= fs.firstMetaBG {
		// The first group of a meta group has its descriptors, behind the superblock if any.
		first := group / perBlock * perBlock
		descriptors = fs.firstDataBlock + first*fs.perGroup
		if first == 0 {
			descriptors = superblock + 1
		} else if fs.hasSuperblock(first) {
			descriptors++
		}
	}
	if err := fs.checkBlocks(descriptors, 1); err != nil {
		return 0, err
	}
	var descriptor [64]byte
	length := min(fs.descBytes, int64(len(descriptor)))
	at := descriptors*fs.blockBytes + group%perBlock*fs.descBytes
	if err := fs.ReadAt(descriptor[:length], at); err != nil {
		return 0, err
	}
	table := int64(binary.LittleEndian.Uint32(descriptor[0x8:]))
	if length >= 64 {
		table |= int64(binary.LittleEndian.Uint32(descriptor[0x28:])) << 32
	}
	blocks := (int64(fs.inodesPerGroup)*fs.inodeBytes + fs.blockBytes - 1) / fs.blockBytes
	return table, fs.checkBlocks(table, blocks)
}

// hasSuperblock reports whether a group other than 0 starts with a copy of the superblock.
func (fs *FS) hasSuperblock(group int64) bool {
	if fs.compat&compatSparseSuper2 != 0 {
		return group == int64(fs.backupGroups[0]) || group == int64(fs.backupGroups[1])
	}
	if group == 1 || fs.readOnlyCompat&roSparseSuper == 0 {
		return true
	}
	for _, base := range []int64{3, 5, 7} {
		power := base
		for power < group {
			power *= base
		}
		if power == group {
			return true
		}
	}
	return false
}
