package ext4

import "mayfly/diff/fault"

// segment is a run of a file's blocks that is contiguous on the volume.
type segment struct {
	logical, physical, count int64
}

// maxSegments limits the segments of a file, 24 bytes each. A file with more fragments is crafted.
const maxSegments = 4 << 20

// segments collects the runs of a file, in ascending order. The rest are holes.
type segments struct {
	fs     *FS
	inode  uint32
	list   []segment
	blocks int64
}

// add refuses runs that go backwards or exceed the file system's blocks, which ends every loop and shared branch.
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

// segmentsOf returns the allocated blocks of a file.
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
