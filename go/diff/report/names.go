package report

import (
	"bufio"
	"io"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
)

// CopyNames writes the names of a directory, each with a zero byte behind it, in disk order; more bytes than the
// limit are a fault. It follows no symbolic links.
func CopyNames(fs *ext4.FS, path []byte, limit int64, to io.Writer) error {
	inode, err := fs.Lookup(path)
	if err != nil {
		return err
	}
	if inode.Type != ext4.Directory {
		return fault.New(fault.NotAFile, "%s is a %s, no directory", fault.Quote(path), inode.Type)
	}
	out := bufio.NewWriter(to)
	err = fs.Entries(inode, func(name []byte, _ uint32) error {
		if limit -= int64(len(name)) + 1; limit < 0 {
			return fault.New(fault.Limit, "%s has too many names", fault.Quote(path))
		}
		if _, err := out.Write(name); err != nil {
			return err
		}
		return out.WriteByte(0)
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
