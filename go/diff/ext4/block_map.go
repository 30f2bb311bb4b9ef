package ext4

import "encoding/binary"

const (
	directBlocks = 12
	mapLevels    = 3
)

// blockMap finds a file's blocks as in ext2 and ext3: twelve direct ones, and trees of one, two and three levels.
func (s *segments) blockMap(inode *Inode) error {
	perBlock := s.fs.blockBytes / 4
	needed := (inode.Size + s.fs.blockBytes - 1) / s.fs.blockBytes
	logical := int64(0)
	for index := range directBlocks + mapLevels {
		pointer := int64(binary.LittleEndian.Uint32(inode.block[4*index:]))
		level := max(0, index-directBlocks+1)
		covered := int64(1)
		for range level {
			covered *= perBlock
		}
		if logical >= needed {
			return nil
		}
		if pointer != 0 {
			if err := s.mapped(pointer, level, logical, covered, needed); err != nil {
				return err
			}
		}
		logical += covered
	}
	return nil
}

// mapped adds the blocks of a pointer. The meter charges a shared branch each time.
func (s *segments) mapped(pointer int64, level int, logical, covered, needed int64) error {
	if level == 0 {
		return s.add(logical, pointer, 1)
	}
	table, err := s.fs.readBlock(pointer)
	if err != nil {
		return err
	}
	covered /= s.fs.blockBytes / 4
	for at := 0; at < len(table) && logical < needed; at += 4 {
		if next := int64(binary.LittleEndian.Uint32(table[at:])); next != 0 {
			if err := s.mapped(next, level-1, logical, covered, needed); err != nil {
				return err
			}
		}
		logical += covered
	}
	return nil
}
