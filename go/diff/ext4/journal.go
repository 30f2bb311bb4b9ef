package ext4

import (
	"encoding/binary"

	"mayfly/diff/fault"
)

// The journal is jbd2's, Documentation/filesystems/ext4/journal.rst: big-endian, unlike the rest. A snapshot of a
// file system that was not frozen has its latest changes only there.
const (
	journalMagic      = 0xc03b3998
	journalDescriptor = 1
	journalCommit     = 2
	journalSuperV2    = 4
	journalRevoke     = 5
	journalHeader     = 12

	journal64bit      = 0x02
	journalChecksumV2 = 0x08
	journalChecksumV3 = 0x10
	journalReplayable = 0x01 | journal64bit | 0x04 | journalChecksumV2 | journalChecksumV3

	tagEscaped  = 1
	tagSameUUID = 2
	tagLast     = 8

	// Each takes some 50 bytes of memory; mke2fs makes journals of at most 1 GiB.
	maxJournalBlocks = 1 << 20
)

// JournalState is the state of the journal.
type JournalState string

const (
	// JournalClean is a journal without pending changes.
	JournalClean JournalState = "clean"
	// JournalReplayed is a journal whose changes are applied in memory; the image stays unchanged.
	JournalReplayed JournalState = "replayed"
)

// journalBlock is the position of a block's newest content in the journal.
type journalBlock struct {
	at       int64
	sequence uint32
	// escaped is true for content that starts with the journal's magic, stored as zeros.
	escaped bool
}

func (b journalBlock) unescape(p []byte, within int64) {
	var mark [4]byte
	binary.BigEndian.PutUint32(mark[:], journalMagic)
	if within < int64(len(mark)) {
		copy(p, mark[within:])
	}
}

type journal struct {
	fs       *FS
	content  *Content
	length   int64
	first    int64
	start    int64
	sequence uint32
	features uint32
}

// replay finds the changes in the journal, and rereads the superblock with them.
func (fs *FS) replay() error {
	fs.Journal = JournalClean
	if fs.incompat&incompatRecover == 0 || fs.compat&compatJournal == 0 {
		return nil
	}
	log, err := fs.openJournal()
	if err != nil || log.start == 0 {
		return err
	}
	transactions, err := log.scan()
	if err != nil {
		return err
	}
	overlay, err := log.collect(transactions)
	if err != nil || len(overlay) == 0 {
		return err
	}
	fs.overlay = overlay
	return fs.reread()
}

func (fs *FS) reread() error {
	var sb [superblockBytes]byte
	if err := fs.ReadAt(sb[:], superblockAt); err != nil {
		return err
	}
	now, err := parse(sb[:])
	if err != nil {
		return err
	}
	if now.blockBytes != fs.blockBytes || now.blocks > fs.volume.Size()/now.blockBytes {
		return fault.New(fault.Corrupt, "the journal holds a superblock of another file system")
	}
	now.volume, now.overlay, now.Journal = fs.volume, fs.overlay, JournalReplayed
	*fs = *now
	return nil
}

func (fs *FS) openJournal() (*journal, error) {
	if fs.journalInode == 0 || fs.journalInode >= fs.firstInode {
		return nil, fault.New(fault.Unsupported, "the journal must be replayed, and is not in the file system")
	}
	inode, err := fs.anyInode(fs.journalInode)
	if err != nil {
		return nil, err
	}
	if inode.Type != File || inode.flags&flagInlineData != 0 {
		return nil, journalFault("is no file")
	}
	content, err := fs.Content(inode)
	if err != nil {
		return nil, err
	}
	log := &journal{fs: fs, content: content}
	super, err := log.block(0)
	if err != nil {
		return nil, err
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(super[at:]) }
	if u32(0) != journalMagic || u32(4) != journalSuperV2 || int64(u32(0xc)) != fs.blockBytes {
		return nil, journalFault("has no superblock that makes sense")
	}
	log.length, log.first, log.start = int64(u32(0x10)), int64(u32(0x14)), int64(u32(0x1c))
	log.sequence, log.features = u32(0x18), u32(0x28)
	if log.features&^journalReplayable != 0 {
		return nil, fault.New(fault.Unsupported, "the journal must be replayed, and has features that are not read (bits %#x)",
			log.features&^uint32(journalReplayable))
	}
	if log.length > inode.Size/fs.blockBytes || log.first < 1 || log.first >= log.length || log.start >= log.length ||
		log.start != 0 && log.start < log.first {
		return nil, journalFault("has %d blocks, from %d on, and starts at %d", log.length, log.first, log.start)
	}
	return log, nil
}

func (j *journal) block(number int64) ([]byte, error) {
	at, err := j.place(number)
	if err != nil {
		return nil, err
	}
	return j.fs.readBlock(at)
}

// place returns the file system block of a journal block.
func (j *journal) place(number int64) (int64, error) {
	offset := number * j.fs.blockBytes
	if offset >= j.content.Size {
		return 0, journalFault("ends before its block %d", number)
	}
	at, _ := j.content.run(offset)
	if at < 0 {
		return 0, journalFault("has a hole")
	}
	return at / j.fs.blockBytes, nil
}

// after returns the following block, with wraparound.
func (j *journal) after(number, count int64) int64 {
	next := number + count
	for next >= j.length {
		next -= j.length - j.first
	}
	return next
}

func journalFault(format string, values ...any) error {
	return fault.New(fault.Corrupt, "the journal "+format, values...)
}
