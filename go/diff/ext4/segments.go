package ext4

import "mayfly/diff/fault"

// segment is a run of blocks of a file that are one after the other on the volume too.
type segment struct {
	logical, physical, count int64
}

// maxSegments of one file, 24 bytes each. A file that is in more pieces than that was made to be.
const maxSegments = 4 << 20

// segments collects the runs of one file, in ascending order. What is in none of them is a hole.
type segments struct {
	fs     *FS
	inode  uint32
	list   []segment
	blocks int64
}

// add refuses what goes back or claims more blocks than there are: that ends every loop and every shared branch.
func (s *segments) add(logical, physical, count int64) error {
	if err := s.fs.checkBlocks(physical, count); err != nil {
		return err
	}
	s.blocks += count
	if s.blocks > s.fs.blocks {
		return fault.New(fault.Corrupt, "inode %d claims more blocks than the file system has", s.inode)
	}
	if len(s.list) > 0 {
		last := &s.list[len(s.list)-1]
		if logical < last.logical+last.count {
			return fault.New(fault.Corrupt, "inode %d has its block %d twice", s.inode, logical)
		}
		if logical == last.logical+last.count && physical == last.physical+last.count {
			last.count += count
			return nil
		}
	}
	if len(s.list) == maxSegments {
		return fault.New(fault.Limit, "inode %d is in more than %d pieces", s.inode, maxSegments)
	}
	s.list = append(s.list, segment{logical, physical, count})
	return nil
}

// segmentsOf are the blocks of a file that hold something.
func (fs *FS) segmentsOf(inode *Inode) ([]segment, error) {
	found := &segments{fs: fs, inode: inode.Number}
	var err error
	if inode.flags&flagExtents != 0 {
		err = found.extents(inode)
	} else {
		err = found.blockMap(inode)
	}
	return found.list, err
}
