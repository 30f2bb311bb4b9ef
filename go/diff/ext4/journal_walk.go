package ext4

import (
	"encoding/binary"

	"mayfly/diff/fault"
)

// tag is a block of the file system in a descriptor.
type tag struct {
	block   int64
	escaped bool
}

// walk visits the control blocks of a journal, in order, until the sequence number breaks.
func (j *journal) walk(visit func(kind uint32, sequence uint32, number int64, block []byte) (more bool, err error)) error {
	number, sequence, walked := j.start, j.sequence, int64(0)
	for {
		block, err := j.block(number)
		if err != nil {
			return err
		}
		kind := binary.BigEndian.Uint32(block[4:])
		if binary.BigEndian.Uint32(block) != journalMagic || binary.BigEndian.Uint32(block[8:]) != sequence {
			return nil
		}
		length := int64(1)
		switch kind {
		case journalDescriptor:
			length += int64(len(j.tags(block)))
		case journalCommit, journalRevoke:
		default:
			return nil
		}
		// A walk that exceeds the journal is circular.
		if walked += length; walked > j.length {
			return journalFault("has no end")
		}
		more, err := visit(kind, sequence, number, block)
		if err != nil || !more {
			return err
		}
		if kind == journalCommit {
			sequence++
		}
		number = j.after(number, length)
	}
}

// scan counts the complete transactions; others are ignored.
func (j *journal) scan() (complete uint32, err error) {
	err = j.walk(func(kind, _ uint32, _ int64, _ []byte) (bool, error) {
		if kind == journalCommit {
			complete++
		}
		return true, nil
	})
	return complete, err
}

// collect returns the newest content of each block in the complete transactions, without blocks that a later one
// revokes.
func (j *journal) collect(complete uint32) (map[int64]journalBlock, error) {
	overlay, revoked := map[int64]journalBlock{}, map[int64]uint32{}
	err := j.walk(func(kind, sequence uint32, number int64, block []byte) (bool, error) {
		if sequence-j.sequence >= complete {
			return false, nil
		}
		switch kind {
		case journalDescriptor:
			for index, tag := range j.tags(block) {
				at, err := j.place(j.after(number, int64(1+index)))
				if err != nil {
					return false, err
				}
				overlay[tag.block] = journalBlock{at: at, sequence: sequence, escaped: tag.escaped}
			}
		case journalRevoke:
			for _, block := range j.revoked(block) {
				revoked[block] = sequence
			}
		}
		if len(overlay)+len(revoked) > maxJournalBlocks {
			return false, fault.New(fault.Limit, "the journal holds more than %d blocks", maxJournalBlocks)
		}
		return true, nil
	})
	for block, sequence := range revoked {
		if newest, has := overlay[block]; has && newest.sequence-j.sequence <= sequence-j.sequence {
			delete(overlay, block)
		}
	}
	return overlay, err
}

func (j *journal) tagBytes() int {
	switch {
	case j.features&journalChecksumV3 != 0:
		return 16
	case j.features&journalChecksumV2 != 0 && j.features&journal64bit != 0:
		return 14
	case j.features&journalChecksumV2 != 0:
		return 10
	case j.features&journal64bit != 0:
		return 12
	}
	return 8
}

// usable returns the length of a control block without its checksum.
func (j *journal) usable(block []byte) int {
	if j.features&(journalChecksumV2|journalChecksumV3) != 0 {
		return len(block) - 4
	}
	return len(block)
}

func (j *journal) tags(block []byte) []tag {
	var tags []tag
	size, end := j.tagBytes(), j.usable(block)
	for at := journalHeader; at+size <= end; {
		entry := block[at:]
		flags := uint32(binary.BigEndian.Uint16(entry[6:]))
		if j.features&journalChecksumV3 != 0 {
			flags = binary.BigEndian.Uint32(entry[4:])
		}
		number := int64(binary.BigEndian.Uint32(entry))
		if j.features&journal64bit != 0 {
			number |= int64(binary.BigEndian.Uint32(entry[8:])) << 32
		}
		tags = append(tags, tag{block: number, escaped: flags&tagEscaped != 0})
		at += size
		if flags&tagSameUUID == 0 {
			at += 16
		}
		if flags&tagLast != 0 {
			break
		}
	}
	return tags
}

func (j *journal) revoked(block []byte) []int64 {
	var blocks []int64
	size := 4
	if j.features&journal64bit != 0 {
		size = 8
	}
	end := min(int64(binary.BigEndian.Uint32(block[12:])), int64(j.usable(block)))
	for at := int64(16); at+int64(size) <= end; at += int64(size) {
		if size == 8 {
			blocks = append(blocks, int64(binary.BigEndian.Uint64(block[at:])))
		} else {
			blocks = append(blocks, int64(binary.BigEndian.Uint32(block[at:])))
		}
	}
	return blocks
}
