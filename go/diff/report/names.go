package report

import (
	"bufio"
	"io"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
)

// CopyNames writes the names in one directory, each with a zero byte behind it, in the order of the disk; of more bytes than
// the limit it is a fault. The path is taken as it is: no symbolic link is followed.
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
