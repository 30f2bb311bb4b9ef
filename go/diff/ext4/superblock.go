// Package ext4 reads an ext4 (or ext3, ext2) file system as untrusted data: it checks every offset, count and name,
// and bounds every loop. Sources: Documentation/filesystems/ext4/ and fs/ext4/ext4.h of Linux.
package ext4

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"

	"mayfly/diff/disk"
	"mayfly/diff/fault"
)

const (
	superblockAt    = 1024
	superblockBytes = 1024
	magic           = 0xef53

	incompatFileType   = 0x0002
	incompatRecover    = 0x0004
	incompatMetaBG     = 0x0010
	incompatExtents    = 0x0040
	incompat64bit      = 0x0080
	incompatMMP        = 0x0100
	incompatFlexBG     = 0x0200
	incompatEAInode    = 0x0400
	incompatChecksum   = 0x2000
	incompatLargeDir   = 0x4000
	incompatInlineData = 0x8000
	incompatCasefold   = 0x20000
	incompatRead       = incompatFileType | incompatRecover | incompatMetaBG | incompatExtents | incompat64bit |
		incompatMMP | incompatFlexBG | incompatEAInode | incompatChecksum | incompatLargeDir | incompatInlineData |
		incompatCasefold

	compatJournal       = 0x0004
	compatSparseSuper2  = 0x0200
	roSparseSuper       = 0x0001
	roMetadataChecksums = 0x0400

	rootInode = 2
)

// incompatNames are unsupported features, for messages.
var incompatNames = map[uint32]string{
	0x0001: "compression", 0x0008: "journal device", 0x1000: "data in directory entries", 0x10000: "encryption",
}

// FS is a file system.
type FS struct {
	volume *disk.Volume
	// overlay maps blocks to their newer content in a replayed journal.
	overlay map[int64]journalBlock

	blockBytes     int64
	blocks         int64
	firstDataBlock int64
	perGroup       int64
	inodes         uint32
	inodesPerGroup uint32
	inodeBytes     int64
	firstInode     uint32
	descBytes      int64
	firstMetaBG    int64
	compat         uint32
	incompat       uint32
	readOnlyCompat uint32
	backupGroups   [2]uint32
	journalInode   uint32
	UUID           string
	// Journal is the state of the journal.
	Journal JournalState
}

// IsHere reports whether a volume has the magic of an ext4 superblock.
func IsHere(volume *disk.Volume) (bool, error) {
	if volume.Size() < superblockAt+superblockBytes {
		return false, nil
	}
	var mark [2]byte
	err := volume.ReadAt(mark[:], superblockAt+0x38)
	return binary.LittleEndian.Uint16(mark[:]) == magic, err
}

// Open reads the superblock, and replays the journal if necessary.
func Open(volume *disk.Volume) (*FS, error) {
	var sb [superblockBytes]byte
	if err := volume.ReadAt(sb[:], superblockAt); err != nil {
		return nil, err
	}
	fs, err := parse(sb[:])
	if err != nil {
		return nil, err
	}
	fs.volume = volume
	if fs.blocks > volume.Size()/fs.blockBytes {
		return nil, fault.New(fault.Corrupt, "the superblock claims %d blocks of %d bytes, the volume has %d bytes",
			fs.blocks, fs.blockBytes, volume.Size())
	}
	if err := fs.replay(); err != nil {
		return nil, err
	}
	return fs, nil
}

func parse(sb []byte) (*FS, error) {
	u16 := func(at int) uint32 { return uint32(binary.LittleEndian.Uint16(sb[at:])) }
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(sb[at:]) }
	if u16(0x38) != magic {
		return nil, fault.New(fault.NoFileSystem, "there is no ext4 superblock")
	}
	if u32(0x18) > 6 {
		return nil, fault.New(fault.Corrupt, "the superblock claims blocks of 2^(10+%d) bytes", u32(0x18))
	}
	fs := &FS{
		blockBytes: 1024 << u32(0x18), blocks: int64(u32(0x4)), firstDataBlock: int64(u32(0x14)),
		perGroup: int64(u32(0x20)), inodes: u32(0), inodesPerGroup: u32(0x28), inodeBytes: 128, firstInode: 11,
		descBytes: 32, compat: u32(0x5c), incompat: u32(0x60), readOnlyCompat: u32(0x64), firstMetaBG: int64(u32(0x104)),
		backupGroups: [2]uint32{u32(0x24c), u32(0x250)}, journalInode: u32(0xe0), UUID: hex.EncodeToString(sb[0x68:0x78]),
	}
	if u32(0x4c) == 0 { // revision 0 has no features, and these two fixed
		fs.compat, fs.incompat, fs.readOnlyCompat = 0, 0, 0
	} else {
		fs.inodeBytes, fs.firstInode = int64(u16(0x58)), u32(0x54)
	}
	if fs.incompat&incompat64bit != 0 {
		fs.blocks |= int64(u32(0x150)) << 32
		fs.descBytes = int64(u16(0xfe))
	}
	if err := fs.checkFeatures(); err != nil {
		return nil, err
	}
	if fs.readOnlyCompat&roMetadataChecksums != 0 {
		if sum := ^crc32.Checksum(sb[:0x3fc], crc32.MakeTable(crc32.Castagnoli)); sum != u32(0x3fc) {
			return nil, fault.New(fault.Corrupt, "the superblock does not have its checksum")
		}
	}
	return fs, fs.checkGeometry()
}

func (fs *FS) checkFeatures() error {
	unread := fs.incompat &^ incompatRead
	if unread == 0 {
		return nil
	}
	for bit, name := range incompatNames {
		if unread&bit != 0 {
			return fault.New(fault.Unsupported, "the file system has the feature %s, which is not read", name)
		}
	}
	return fault.New(fault.Unsupported, "the file system has features that are not read (bits %#x)", unread)
}

func (fs *FS) checkGeometry() error {
	powerOfTwo := func(n int64) bool { return n > 0 && n&(n-1) == 0 }
	wrong := func(what string, is int64) error {
		return fault.New(fault.Corrupt, "the superblock makes no sense: %s is %d", what, is)
	}
	switch {
	case fs.blocks <= fs.firstDataBlock || fs.blocks > 1<<48:
		return wrong("the number of blocks", fs.blocks)
	case fs.firstDataBlock > 1:
		return wrong("the first data block", fs.firstDataBlock)
	case fs.perGroup < 8 || fs.perGroup > 1<<31:
		return wrong("the number of blocks in a group", fs.perGroup)
	case !powerOfTwo(fs.inodeBytes) || fs.inodeBytes < 128 || fs.inodeBytes > fs.blockBytes:
		return wrong("the size of an inode", fs.inodeBytes)
	case fs.inodesPerGroup == 0 || int64(fs.inodesPerGroup) > 8*fs.blockBytes:
		return wrong("the number of inodes in a group", int64(fs.inodesPerGroup))
	case !powerOfTwo(fs.descBytes) || fs.descBytes < 32 || fs.descBytes > fs.blockBytes:
		return wrong("the size of a group descriptor", fs.descBytes)
	case fs.incompat&incompat64bit != 0 && fs.descBytes < 64:
		return wrong("the size of a 64-bit group descriptor", fs.descBytes)
	case fs.inodes < rootInode || int64(fs.inodes) > fs.groups()*int64(fs.inodesPerGroup):
		return wrong("the number of inodes", int64(fs.inodes))
	case fs.firstInode <= rootInode || fs.firstInode > fs.inodes:
		return wrong("the first inode", int64(fs.firstInode))
	}
	return nil
}

func (fs *FS) groups() int64 { return (fs.blocks - fs.firstDataBlock + fs.perGroup - 1) / fs.perGroup }
