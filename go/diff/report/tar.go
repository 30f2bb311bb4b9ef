package report

import (
	"archive/tar"
	"io"
	"path"
	"strings"

	"mayfly/diff/ext4"
	"mayfly/diff/fault"
	"mayfly/diff/tree"
)

// Tar writes the added, changed and renamed files as an archive in the PAX format, with numeric owners and extended
// attributes. It includes a renamed directory with all its content, but no sockets. Removed and old names are
// whiteouts of the OCI image specification (layer.md): empty files with a prefixed name.
func (c *Comparison) Tar(to io.Writer) error {
	archive := &archiver{comparison: c, tar: tar.NewWriter(to), linked: map[uint32]string{}, added: map[int32]bool{}}
	err := c.Walk(func(kind string, before, after int32) error {
		switch kind {
		case Removed:
			return archive.whiteOut(before)
		case Renamed:
			if err := archive.whiteOut(before); err != nil {
				return err
			}
			return archive.addAll(after)
		}
		return archive.add(after)
	})
	if err != nil {
		return err
	}
	return archive.tar.Close()
}

const whiteout = ".wh."

type archiver struct {
	comparison *Comparison
	tar        *tar.Writer
	// linked maps each file with several names to its first name.
	linked map[uint32]string
	// added are nodes in the archive: a renamed directory includes the changes below it.
	added map[int32]bool
}

// whiteOut writes a whiteout for a name, unless a parent directory has one.
func (a *archiver) whiteOut(before int32) error {
	tree := a.comparison.Before
	for parent := tree.Parent(before); parent >= 0; parent = tree.Parent(parent) {
		if a.comparison.gone(parent) {
			return nil
		}
	}
	folder, name := path.Split(string(tree.Path(before)))
	header := &tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: "." + folder + whiteout + name, Mode: 0o600}
	return a.write(header, tree.Path(before))
}

// gone reports whether the file of this name was removed or renamed.
func (c *Comparison) gone(before int32) bool {
	node := c.Before.Node(before)
	if node.Outside {
		return false
	}
	return node.Counterpart == tree.Alone || c.After.Node(node.Counterpart).Renamed
}

func (a *archiver) write(header *tar.Header, name []byte) error {
	if err := a.tar.WriteHeader(header); err != nil {
		return fault.New(fault.Unsupported, "%s does not fit into an archive: %v", fault.Quote(name), err)
	}
	return nil
}

// addAll adds a renamed file, and everything below it.
func (a *archiver) addAll(index int32) error {
	if err := a.add(index); err != nil {
		return err
	}
	return each(a.comparison.After.Node(index), a.addAll)
}

func (a *archiver) add(index int32) error {
	if a.added[index] || a.comparison.isHidden(a.comparison.After, index) {
		return nil
	}
	a.added[index] = true
	fs := a.comparison.After.FS
	inode, err := fs.Inode(a.comparison.After.Node(index).Inode)
	if err != nil || inode.Type == ext4.Socket {
		return err
	}
	if name := a.comparison.After.Path(index); strings.HasPrefix(path.Base(string(name)), whiteout) {
		return fault.New(fault.Unsupported, "%s cannot be in the archive, where such a name stands for what was removed",
			fault.Quote(name))
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
	// A sparse file is written in full.
	if a.comparison.hashable -= header.Size; a.comparison.hashable < 0 {
		return fault.New(fault.Limit, "%s makes the archive too large", fault.Quote(a.comparison.After.Path(index)))
	}
	if err := a.write(header, a.comparison.After.Path(index)); err != nil {
		return err
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
