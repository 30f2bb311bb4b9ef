package ext4

import (
	"bytes"
	"io"
	"sort"

	"mayfly/diff/fault"
)

// Content is the content of a file.
type Content struct {
	fs       *FS
	Size     int64
	inline   []byte
	segments []segment
}

// Content finds a file's blocks.
func (fs *FS) Content(inode *Inode) (*Content, error) {
	content := &Content{fs: fs, Size: inode.Size}
	var err error
	switch {
	case inode.flags&flagInlineData != 0:
		content.inline, err = fs.inlineData(inode)
	case inode.Type == Symlink && inode.isFastSymlink():
		content.inline = inode.block[:inode.Size]
	default:
		content.segments, err = fs.segmentsOf(inode)
	}
	return content, err
}

// isFastSymlink reports whether the target is in the inode, instead of block pointers.
func (i *Inode) isFastSymlink() bool { return i.Size < blockFieldBytes && i.flags&flagExtents == 0 }

// run returns the volume offset of the bytes at offset, or -1 for zeros, and the number of contiguous bytes.
func (c *Content) run(offset int64) (at, length int64) {
	block := offset / c.fs.blockBytes
	index := sort.Search(len(c.segments), func(i int) bool {
		return c.segments[i].logical+c.segments[i].count > block
	})
	if index == len(c.segments) {
		return -1, c.Size - offset
	}
	next := c.segments[index]
	begin := next.logical * c.fs.blockBytes
	if begin > offset {
		return -1, min(begin, c.Size) - offset
	}
	end := min(begin+next.count*c.fs.blockBytes, c.Size)
	return next.physical*c.fs.blockBytes + offset - begin, end - offset
}

// readRun fills p from an offset that run returned.
func (c *Content) readRun(p []byte, at int64) error {
	if at < 0 {
		clear(p)
		return nil
	}
	return c.fs.ReadAt(p, at)
}

const chunkBytes = 1 << 16

// CopyTo writes at most limit bytes from an offset on. Zeros are charged like reads.
func (c *Content) CopyTo(to io.Writer, offset, limit int64, charge func(int64) error) error {
	end := c.Size
	if limit < end-offset {
		end = offset + limit
	}
	if c.inline != nil {
		if offset < end {
			_, err := to.Write(c.inline[offset:end])
			return err
		}
		return nil
	}
	buffer := make([]byte, max(0, min(chunkBytes, end-offset)))
	for offset < end {
		at, length := c.run(offset)
		chunk := buffer[:min(length, chunkBytes, end-offset)]
		if err := charge(int64(len(chunk))); err != nil {
			return err
		}
		if err := c.readRun(chunk, at); err != nil {
			return err
		}
		if _, err := to.Write(chunk); err != nil {
			return err
		}
		offset += int64(len(chunk))
	}
	return nil
}

// Bytes returns the whole content of a small file.
func (c *Content) Bytes(limit int64) ([]byte, error) {
	if c.Size > limit {
		return nil, fault.New(fault.Corrupt, "%d bytes where at most %d can be", c.Size, limit)
	}
	var all bytes.Buffer
	err := c.CopyTo(&all, 0, c.Size, func(int64) error { return nil })
	return all.Bytes(), err
}

// Target returns the target of a symbolic link.
func (fs *FS) Target(inode *Inode) ([]byte, error) {
	content, err := fs.Content(inode)
	if err != nil {
		return nil, err
	}
	return content.Bytes(fs.blockBytes)
}
