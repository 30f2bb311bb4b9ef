package ext4

import (
	"encoding/binary"
	"time"

	"mayfly/diff/fault"
)

// Type is the file type, from the upper four bits of the mode.
type Type string

const (
	File        Type = "file"
	Directory   Type = "directory"
	Symlink     Type = "symlink"
	Fifo        Type = "fifo"
	Socket      Type = "socket"
	CharDevice  Type = "char-device"
	BlockDevice Type = "block-device"
)

var types = map[uint16]Type{
	0x8000: File, 0x4000: Directory, 0xa000: Symlink, 0x1000: Fifo, 0xc000: Socket, 0x2000: CharDevice, 0x6000: BlockDevice,
}

const (
	flagExtents    = 0x00080000
	flagEAInode    = 0x00200000
	flagInlineData = 0x10000000
	flagEncrypted  = 0x00000800

	goodOldBytes    = 128
	blockFieldAt    = 0x28
	blockFieldBytes = 60
)

// Inode is the metadata of a file.
type Inode struct {
	Number     uint32
	Type       Type
	Mode       uint16 // permissions, with set-id and sticky bits
	UID, GID   uint32
	Size       int64
	Links      uint16
	Modified   time.Time
	Generation uint32
	// Born is the stored creation time, seconds and the extra word; 0 where inodes are too small for it.
	Born uint64
	// Device is the number of a device file, in the 32 bits of Linux's `makedev`.
	Device uint32
	flags  uint32
	// block is the root of the extents, the block map, the inline data or the symbolic link's target.
	block [blockFieldBytes]byte
	// attributes are the bytes behind the inode's fields.
	attributes     []byte
	attributeBlock int64
}

func (fs *FS) rawInode(number uint32) ([]byte, error) {
	if number == 0 || number > fs.inodes {
		return nil, fault.New(fault.Corrupt, "inode %d is not among the %d there are", number, fs.inodes)
	}
	index := int64(number - 1)
	table, err := fs.inodeTable(index / int64(fs.inodesPerGroup))
	if err != nil {
		return nil, err
	}
	raw := make([]byte, fs.inodeBytes)
	return raw, fs.ReadAt(raw, table*fs.blockBytes+index%int64(fs.inodesPerGroup)*fs.inodeBytes)
}

// Inode reads an inode that a name refers to.
func (fs *FS) Inode(number uint32) (*Inode, error) {
	if number < fs.firstInode && number != rootInode {
		return nil, fault.New(fault.Corrupt, "inode %d is none that can have a name", number)
	}
	inode, err := fs.anyInode(number)
	if err != nil {
		return nil, err
	}
	switch {
	case inode.Links == 0:
		return nil, fault.New(fault.Corrupt, "inode %d has a name, and no links", number)
	case inode.Type == "":
		return nil, fault.New(fault.Corrupt, "inode %d is of no type that exists", number)
	case inode.flags&flagEAInode != 0:
		return nil, fault.New(fault.Corrupt, "inode %d has a name, and is an extended attribute", number)
	case inode.flags&flagEncrypted != 0:
		return nil, fault.New(fault.Unsupported, "inode %d is encrypted", number)
	}
	return inode, nil
}

func (fs *FS) anyInode(number uint32) (*Inode, error) {
	raw, err := fs.rawInode(number)
	if err != nil {
		return nil, err
	}
	u16 := func(at int) uint16 { return binary.LittleEndian.Uint16(raw[at:]) }
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(raw[at:]) }
	mode := u16(0)
	inode := &Inode{
		Number: number, Type: types[mode&0xf000], Mode: mode & 0o7777, Links: u16(0x1a), Generation: u32(0x64), flags: u32(0x20),
		UID: uint32(u16(0x2)) | uint32(u16(0x78))<<16, GID: uint32(u16(0x18)) | uint32(u16(0x7a))<<16,
		Size:           int64(u32(0x4)) | int64(u32(0x6c))<<32,
		attributeBlock: int64(u32(0x68)) | int64(u16(0x76))<<32,
	}
	copy(inode.block[:], raw[blockFieldAt:])
	extra := 0
	if fs.inodeBytes > goodOldBytes {
		extra = int(u16(0x80))
		if extra > len(raw)-goodOldBytes || extra%4 != 0 {
			return nil, fault.New(fault.Corrupt, "inode %d claims %d more bytes than it has", number, extra)
		}
		inode.attributes = raw[goodOldBytes+extra:]
	}
	var modifiedExtra uint32
	if extra >= 0x8c-goodOldBytes {
		modifiedExtra = u32(0x88)
	}
	if extra >= 0x98-goodOldBytes {
		inode.Born = uint64(u32(0x90))<<32 | uint64(u32(0x94))
	}
	inode.Modified = timeOf(u32(0x10), modifiedExtra)
	if inode.Type == CharDevice || inode.Type == BlockDevice {
		inode.Device = inode.device()
	}
	if inode.Size < 0 {
		return nil, fault.New(fault.Corrupt, "inode %d has 2^63 bytes or more", number)
	}
	return inode, nil
}

// timeOf decodes a time: two bits of the extra word extend the epoch, the other thirty are nanoseconds.
func timeOf(seconds, extra uint32) time.Time {
	return time.Unix(int64(int32(seconds))+int64(extra&3)<<32, min(int64(extra>>2), 999_999_999)).UTC()
}

// device returns the device number: in the old form (8 bits each) in the first word, else the new form in the
// second.
func (i *Inode) device() uint32 {
	if old := binary.LittleEndian.Uint32(i.block[0:]); old != 0 {
		return old & 0xffff
	}
	return binary.LittleEndian.Uint32(i.block[4:])
}

// Numbers returns the numbers of a device file.
func (i *Inode) Numbers() (major, minor uint32) {
	return i.Device >> 8 & 0xfff, i.Device&0xff | i.Device>>12&0xfff00
}

// SameFile reports whether two inodes are certainly one file at two times: equal number, generation and creation
// time. Images that no kernel wrote have generation 0.
func (i *Inode) SameFile(other *Inode) bool {
	return i.Number == other.Number && i.Type == other.Type && i.Generation == other.Generation && i.Born == other.Born &&
		i.Generation != 0
}
