package unpack

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// placeOf returns the path of an entry relative to the tree, without a leading slash; "" is the root itself.
func placeOf(name string) (string, error) {
	var parts []string
	for _, part := range strings.Split(name, "/") {
		switch part {
		case "", ".":
		case "..":
			return "", errors.New("it leads out of the archive")
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/"), nil
}

func isBelowMount(place string) bool {
	first, _, isBelow := strings.Cut(place, "/")
	return isBelow && mounted[first]
}

func (l *layer) take(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	place, err := placeOf(header.Name)
	if err != nil {
		return err
	}
	if isBelowMount(place) {
		return nil
	}
	if isWhiteout, err := l.whiteout(place); isWhiteout || err != nil {
		return err
	}
	at := "/" + place
	if place != "" {
		if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
			return err
		}
		if err := makeWay(at, header.Typeflag == tar.TypeDir); err != nil {
			return err
		}
	} else if header.Typeflag != tar.TypeDir {
		return errors.New("the root is no folder")
	}
	if err := l.put(at, header, content); err != nil {
		return err
	}
	l.mark(at)
	return nil
}

// mark records a path, and its parents, as created by this layer.
func (l *layer) mark(at string) {
	for l.made != nil && at != "/" && !l.made[at] {
		l.made[at] = true
		at = path.Dir(at)
	}
}

// makeWay removes an existing file, except a folder that stays one.
func makeWay(at string, isFolder bool) error {
	info, err := os.Lstat(at)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if isFolder && info.IsDir() {
		return nil
	}
	return os.RemoveAll(at)
}

func (l *layer) put(at string, header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		if header.Size > l.root.largest {
			return errors.New("it is larger than the disk")
		}
		if err := write(at, content, header.Size); err != nil {
			return err
		}
	case tar.TypeDir:
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		l.folders = append(l.folders, folderTime{at, header.ModTime})
	case tar.TypeSymlink:
		if err := os.Symlink(header.Linkname, at); err != nil {
			return err
		}
	case tar.TypeLink:
		place, err := placeOf(header.Linkname)
		if err != nil {
			return err
		}
		// It shares the owner and mode of its target.
		return os.Link("/"+place, at)
	case tar.TypeFifo:
		if err := syscall.Mkfifo(at, 0o600); err != nil {
			return err
		}
	case tar.TypeChar, tar.TypeBlock:
		return errors.New("a device outside of /dev is not taken")
	default:
		return errors.New("it is of an unknown kind")
	}
	return describe(at, header)
}

// write writes holes for zeros, so that a file of zeros uses no disk.
func write(at string, content io.Reader, size int64) error {
	file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	piece := make([]byte, 1<<16)
	zeros := make([]byte, len(piece))
	for {
		n, err := io.ReadFull(content, piece)
		if n > 0 {
			if bytes.Equal(piece[:n], zeros[:n]) {
				_, skipped := file.Seek(int64(n), io.SeekCurrent)
				if skipped != nil {
					return skipped
				}
			} else if _, failed := file.Write(piece[:n]); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && n < len(piece) {
			break
		}
		if err != nil {
			return err
		}
	}
	return file.Truncate(size)
}

const xattr = "SCHILY.xattr."

// describe sets owner, attributes, mode and time, in this order: a change of owner clears mode bits and
// capabilities.
func describe(at string, header *tar.Header) error {
	if err := os.Lchown(at, header.Uid, header.Gid); err != nil {
		return err
	}
	isLink := header.Typeflag == tar.TypeSymlink
	for key, value := range header.PAXRecords {
		name, isAttribute := strings.CutPrefix(key, xattr)
		if !isAttribute || isLink || name != "security.capability" && !strings.HasPrefix(name, "user.") {
			continue
		}
		if err := syscall.Setxattr(at, name, []byte(value), 0); err != nil {
			return err
		}
	}
	if isLink {
		return nil
	}
	if err := syscall.Chmod(at, uint32(header.Mode)&0o7777); err != nil {
		return err
	}
	if header.ModTime.Before(time.Unix(0, 0)) {
		return nil
	}
	return os.Chtimes(at, header.ModTime, header.ModTime)
}
