package files

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"
	"unicode/utf8"
)

// getTar sends a directory as a tar archive with relative names. It omits other mounted file systems, and sockets,
// which tar cannot represent.
func (f *service) getTar(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	closed, err := closedOf(r)
	if err != nil {
		return err
	}
	root, err := openDirectory(path)
	if err != nil {
		return refusalOf(path, err)
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return refusalOf(path, err)
	}
	describe(w.Header(), info)
	w.Header().Set("Content-Type", "application/x-tar")
	w.WriteHeader(http.StatusOK)
	buffered := bufio.NewWriterSize(w, blockBytes)
	archive := &archiver{
		ctx:    r.Context(),
		tar:    tar.NewWriter(buffered),
		device: uint64(statOf(info).Dev),
		closed: closed,
		linked: map[fileID]string{},
		buffer: make([]byte, blockBytes),
	}
	err = archive.addDirectory(root, info, "./")
	if err == nil {
		err = archive.tar.Close()
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		breakOff()
	}
	return nil
}

// fileID identifies a file with several names.
type fileID struct{ device, inode uint64 }

type archiver struct {
	ctx context.Context
	tar *tar.Writer
	// device is the archived file system.
	device uint64
	// closed is omitted from the archive; nil for none.
	closed os.FileInfo
	// linked maps each file with several names to its first name.
	linked map[fileID]string
	buffer []byte
}

func (a *archiver) addDirectory(root *os.Root, info os.FileInfo, name string) error {
	if err := a.addHeader(info, name, ""); err != nil {
		return err
	}
	if uint64(statOf(info).Dev) != a.device {
		return nil
	}
	directory, err := root.Open(".")
	if err != nil {
		return err
	}
	defer directory.Close()
	for {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		children, err := directory.Readdirnames(namesPerRead)
		for _, child := range children {
			// Files that vanish during the archive are omitted.
			err := a.add(root, child, name+child)
			var left *unreadError
			if errors.As(err, &left) {
				err = a.note("%s: %s", name+child, left.cause)
			}
			if err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (a *archiver) add(root *os.Root, child, name string) error {
	info, err := root.Lstat(child)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		below, err := root.OpenRoot(child)
		if err != nil {
			return unread(err)
		}
		defer below.Close()
		return a.addDirectory(below, info, name+"/")
	case mode.IsRegular():
		return a.addFile(root, child, name)
	case mode&os.ModeSymlink != 0:
		target, err := root.Readlink(child)
		if err != nil {
			return err
		}
		return a.addHeader(info, name, target)
	case mode&os.ModeSocket != 0:
		return nil
	default:
		return a.addHeader(info, name, "")
	}
}

func (a *archiver) addFile(root *os.Root, child, name string) error {
	file, err := root.OpenFile(child, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return unread(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || isClosed(a.closed, info) {
		return os.ErrNotExist
	}
	stat := statOf(info)
	if stat.Nlink > 1 {
		id := fileID{uint64(stat.Dev), stat.Ino}
		if first, seen := a.linked[id]; seen {
			return a.addLink(info, name, first)
		}
		a.linked[id] = name
	}
	if err := a.addHeader(info, name, ""); err != nil {
		return err
	}
	return a.addContent(file, name, info.Size())
}

// addContent adds as many bytes as the header announces. Like GNU tar, it pads missing bytes with zeros, and names
// the file in a note.
func (a *archiver) addContent(file *os.File, name string, size int64) error {
	for size > 0 {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		block := a.buffer[:min(size, blockBytes)]
		n, err := fill(file, block)
		if _, writeErr := a.tar.Write(block[:n]); writeErr != nil {
			return writeErr
		}
		size -= int64(n)
		if err != nil && size > 0 {
			return a.fillUp(name, size, err)
		}
	}
	return nil
}

func (a *archiver) addLink(info os.FileInfo, name, first string) error {
	header, err := headerOf(info, name, "")
	if err != nil {
		return err
	}
	header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
	if !utf8.ValidString(first) {
		header.Format = tar.FormatGNU
	}
	return a.tar.WriteHeader(header)
}

func (a *archiver) addHeader(info os.FileInfo, name, target string) error {
	header, err := headerOf(info, name, target)
	if err != nil {
		return err
	}
	return a.tar.WriteHeader(header)
}

func headerOf(info os.FileInfo, name, target string) (*tar.Header, error) {
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return nil, err
	}
	header.Name = name
	header.ModTime = info.ModTime().Truncate(time.Second)
	header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
	// PAX records are UTF-8; GNU's long names are bytes.
	if !utf8.ValidString(name) || !utf8.ValidString(target) {
		header.Format = tar.FormatGNU
	}
	return header, nil
}
