package report

import (
	"archive/tar"
	"io"
	"strings"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
	"mayfly/diff/tree"
)

// Tar writes what was added, changed or renamed as an archive in the PAX format, with numeric owners and extended
// attributes. A renamed directory is there with all its content. What was removed is not in it, nor are sockets.
func (c *Comparison) Tar(to io.Writer) error {
	archive := &archiver{comparison: c, tar: tar.NewWriter(to), linked: map[uint32]string{}, added: map[int32]bool{}}
	err := c.Walk(func(kind string, _, after int32) error {
		switch kind {
		case Removed:
			return nil
		case Renamed:
			return archive.addAll(after)
		}
		return archive.add(after)
	})
	if err != nil {
		return err
	}
	return archive.tar.Close()
}

type archiver struct {
	comparison *Comparison
	tar        *tar.Writer
	// linked holds the first name of every file that has several.
	linked map[uint32]string
	// added are nodes: a change below a renamed directory is in the archive with that.
	added map[int32]bool
}

// addAll adds what was renamed, and all below it.
func (a *archiver) addAll(index int32) error {
	if err := a.add(index); err != nil {
		return err
	}
	return each(a.comparison.After.Node(index), a.addAll)
}

func (a *archiver) add(index int32) error {
	if a.added[index] {
		return nil
	}
	a.added[index] = true
	fs := a.comparison.After.FS
	inode, err := fs.Inode(a.comparison.After.Node(index).Inode)
	if err != nil || inode.Type == ext4.Socket {
		return err
	}
	header, err := headerOf(fs, inode, a.comparison.After, index)
	if err != nil {
		return err
	}
	if inode.Links > 1 && inode.Type != ext4.Directory {
		if first, has := a.linked[inode.Number]; has {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
			return a.tar.WriteHeader(header)
		}
		a.linked[inode.Number] = header.Name
	}
	// A sparse file is written out in full.
	if a.comparison.hashable -= header.Size; a.comparison.hashable < 0 {
		return fault.New(fault.Limit, "%s makes the archive too large", fault.Quote(a.comparison.After.Path(index)))
	}
	if err := a.tar.WriteHeader(header); err != nil {
		return fault.New(fault.Unsupported, "%s does not fit into an archive: %v",
			fault.Quote(a.comparison.After.Path(index)), err)
	}
	if inode.Type != ext4.File {
		return nil
	}
	content, err := fs.Content(inode)
	if err != nil {
		return err
	}
	return content.CopyTo(a.tar, 0, content.Size, a.comparison.meter.Charge)
}

var tarTypes = map[ext4.Type]byte{
	ext4.File: tar.TypeReg, ext4.Directory: tar.TypeDir, ext4.Symlink: tar.TypeSymlink, ext4.Fifo: tar.TypeFifo,
	ext4.CharDevice: tar.TypeChar, ext4.BlockDevice: tar.TypeBlock,
}

func headerOf(fs *ext4.FS, inode *ext4.Inode, of *tree.Tree, index int32) (*tar.Header, error) {
	header := &tar.Header{
		Format: tar.FormatPAX, Typeflag: tarTypes[inode.Type], Name: "." + string(of.Path(index)), Mode: int64(inode.Mode),
		Uid: int(inode.UID), Gid: int(inode.GID), ModTime: inode.Modified, PAXRecords: map[string]string{},
	}
	switch inode.Type {
	case ext4.File:
		header.Size = inode.Size
	case ext4.Directory:
		header.Name = strings.TrimSuffix(header.Name, "/") + "/"
	case ext4.Symlink:
		target, err := fs.Target(inode)
		if err != nil {
			return nil, err
		}
		header.Linkname = string(target)
	case ext4.CharDevice, ext4.BlockDevice:
		major, minor := inode.Numbers()
		header.Devmajor, header.Devminor = int64(major), int64(minor)
	}
	attributes, err := fs.Attributes(inode)
	for _, attribute := range attributes {
		// A record's name ends at its first "=", and has no NUL.
		if name := string(attribute.Name); !strings.ContainsAny(name, "=\x00") {
			header.PAXRecords["SCHILY.xattr."+name] = string(attribute.Value)
		}
	}
	return header, err
}
