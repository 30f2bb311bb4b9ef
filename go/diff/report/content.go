package report

import (
	"encoding/binary"
	"io"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
	"mayfly/diff/meter"
)

// CopyFile writes the size of a file (8 bytes, big-endian), then its first bytes. It follows no symbolic links.
func CopyFile(fs *ext4.FS, path []byte, limit int64, to io.Writer, meter *meter.Meter) error {
	inode, err := fs.Lookup(path)
	if err != nil {
		return err
	}
	if inode.Type != ext4.File {
		return fault.New(fault.NotAFile, "%s is a %s", fault.Quote(path), inode.Type)
	}
	content, err := fs.Content(inode)
	if err != nil {
		return err
	}
	if err := binary.Write(to, binary.BigEndian, uint64(content.Size)); err != nil {
		return err
	}
	return content.CopyTo(to, 0, limit, meter.Charge)
}
