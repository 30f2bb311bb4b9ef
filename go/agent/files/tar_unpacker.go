package files

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"mayfly/agent/answer"
)

// unpacker extracts an archive below one directory.
type unpacker struct {
	root *os.Root
	// path is the directory, with links resolved.
	path  string
	stage *stage
	// isNew is true when the directory was created for this archive, and so gets the mode in the archive.
	isNew bool
	// owner owns all entries, unless keepOwners: then the archive's numeric ids do.
	owner      owner
	keepOwners bool
	// open are the directories above the current entry. Their times are set after their last entry.
	open           []enteredDirectory
	entries, bytes int64
}

type enteredDirectory struct {
	// name is the name in the archive, path that of the directory, with links resolved.
	name, path string
	mtime      time.Time
}

func (u *unpacker) unpack(body io.Reader) error {
	archive := tar.NewReader(bufio.NewReaderSize(body, blockBytes))
	for {
		header, err := archive.Next()
		if err == io.EOF {
			if err := u.leave(""); err != nil {
				return err
			}
			// Reads the padding, whose end shows whether the upload was complete.
			_, err := io.Copy(io.Discard, body)
			return err
		}
		if err != nil {
			return archiveError(err)
		}
		if header.Typeflag == tar.TypeXGlobalHeader {
			continue // a comment on the whole, as `git archive` makes one
		}
		name, err := nameWithin(header.Name)
		if err != nil {
			return err
		}
		if err := u.add(archive, header, name); err != nil {
			return entryError(header.Name, err)
		}
		u.entries++
	}
}

func archiveError(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrFieldTooLong) {
		return answer.Refused("invalid_request", "The body is no whole tar archive: %s.", err)
	}
	return err
}

// entryError adds the entry's name. os.Root refuses an escaping path with an untyped error.
func entryError(name string, err error) error {
	if strings.HasSuffix(err.Error(), ": path escapes from parent") {
		return answer.Refused("invalid_request", "The archive's %q would be written outside of the directory.", name)
	}
	return refusalOf(name, err)
}

func (u *unpacker) add(archive *tar.Reader, header *tar.Header, name string) error {
	if err := u.leave(name); err != nil {
		return err
	}
	path, err := u.resolve(name, header.Typeflag == tar.TypeDir)
	if err != nil {
		return err
	}
	if path != "." {
		if err := u.makeParents(path); err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.addDirectory(header, name, path)
	case tar.TypeReg, tar.TypeRegA, tar.TypeGNUSparse:
		return u.addFile(archive, header, path)
	case tar.TypeSymlink:
		return u.addSymlink(header, path)
	case tar.TypeLink:
		return u.addLink(header, path)
	}
	return answer.Refused("invalid_request", "The archive's %q is of a type that is not unpacked: only files, directories and links are.", header.Name)
}

// leave sets the times of the directories that do not contain the next entry.
func (u *unpacker) leave(next string) error {
	for len(u.open) > 0 {
		last := u.open[len(u.open)-1]
		if next != "" && (last.name == "." || strings.HasPrefix(next, last.name+"/")) {
			return nil
		}
		u.open = u.open[:len(u.open)-1]
		if err := u.root.Chtimes(last.path, last.mtime, last.mtime); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// makeParents creates the parent directories that the archive omits.
func (u *unpacker) makeParents(name string) error {
	for end, char := range []byte(name) {
		if char != '/' {
			continue
		}
		parent := name[:end]
		isNew, err := u.ensureDirectory(parent)
		if err == nil && isNew {
			err = u.own(parent, u.owner, newDirectoryMode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ensureDirectory creates a directory unless it exists, also when another process creates it concurrently.
func (u *unpacker) ensureDirectory(name string) (isNew bool, err error) {
	info, err := u.root.Stat(name)
	if err == nil && info.IsDir() {
		return false, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return false, err
	}
	err = u.root.Mkdir(name, 0o700)
	if os.IsExist(err) {
		if info, again := u.root.Stat(name); again == nil && info.IsDir() {
			return false, nil
		}
	}
	return err == nil, err
}

// own sets the owner and mode of a directory.
func (u *unpacker) own(name string, o owner, mode uint32) error {
	if err := u.root.Lchown(name, o.uid, o.gid); err != nil {
		return err
	}
	return u.root.Chmod(name, fileMode(mode))
}

func (u *unpacker) ownerOf(header *tar.Header) owner {
	if u.keepOwners {
		return owner{header.Uid, header.Gid}
	}
	return u.owner
}

func (u *unpacker) addDirectory(header *tar.Header, name, path string) error {
	if name == "." && !u.isNew {
		return nil
	}
	if _, err := u.ensureDirectory(path); err != nil {
		return err
	}
	u.open = append(u.open, enteredDirectory{name, path, header.ModTime})
	return u.own(path, u.ownerOf(header), uint32(header.Mode)&0o7777)
}

func (u *unpacker) addFile(archive *tar.Reader, header *tar.Header, name string) error {
	file, err := u.stage.create()
	if err != nil {
		return err
	}
	defer u.stage.clear()
	defer file.Close()
	written, err := copyBlocks(file, archive)
	if err != nil {
		return archiveError(err)
	}
	u.bytes += written
	if err := setRights(file, rights{uint32(header.Mode) & 0o7777, u.ownerOf(header)}); err != nil {
		return err
	}
	if err := u.root.Chtimes(u.stage.name, header.ModTime, header.ModTime); err != nil {
		return err
	}
	return u.stage.place(name)
}

func (u *unpacker) addSymlink(header *tar.Header, name string) error {
	defer u.stage.clear()
	if err := u.root.Symlink(header.Linkname, u.stage.name); err != nil {
		return err
	}
	o := u.ownerOf(header)
	if err := u.root.Lchown(u.stage.name, o.uid, o.gid); err != nil {
		return err
	}
	return u.stage.place(name)
}

func (u *unpacker) addLink(header *tar.Header, name string) error {
	first, err := nameWithin(header.Linkname)
	if err == nil {
		first, err = u.resolve(first, false)
	}
	if err != nil {
		return err
	}
	// rename(2) does nothing when both names are the same file: then the staged name remains.
	defer u.stage.clear()
	if err := u.root.Link(first, u.stage.name); err != nil {
		return err
	}
	return u.stage.place(name)
}
