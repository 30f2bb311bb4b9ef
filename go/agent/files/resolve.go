package files

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"unsafe"

	"mayfly/agent/answer"
)

const (
	// pathOnly opens a place without reading it (O_PATH), so that opening does nothing to a device.
	pathOnly = 0x200000
	// noMagicLinks is RESOLVE_NO_MAGICLINKS of openat2(2): /proc/PID/root and its like lead nowhere.
	noMagicLinks = 0x02
	openat2Call  = 437
	atCwd        = -100
	procMagic    = 0x9fa0
)

// processOwn matches the names in /proc that hold the memory, the environment or the view of a process, or of the kernel.
var processOwn = regexp.MustCompile(`/(root|cwd|exe|environ|mem|auxv|kcore|(fd|map_files)(/[^/]*)?)$`)

// openHow is struct open_how of openat2(2).
type openHow struct{ flags, mode, resolve uint64 }

// openResolved opens what a path leads to, but never through or to what a process has for itself in /proc: there are the
// secrets of others, in mounts, memory and environments. The kernel judges the resolved path, so links lead there neither.
func openResolved(path string, flags int) (*os.File, error) {
	file, err := openWithoutMagic(path, flags)
	if errors.Is(err, syscall.ELOOP) && !hasTooManyLinks(path) {
		return nil, processOwned(path)
	}
	if err != nil {
		return nil, err
	}
	if isProcessOwn(file) {
		file.Close()
		return nil, processOwned(path)
	}
	return file, nil
}

func openWithoutMagic(path string, flags int) (*os.File, error) {
	raw, err := syscall.BytePtrFromString(path)
	if err != nil {
		return nil, err
	}
	how := openHow{flags: uint64(flags | syscall.O_CLOEXEC), resolve: noMagicLinks}
	cwd := atCwd
	for {
		fd, _, errno := syscall.Syscall6(openat2Call, uintptr(cwd), uintptr(unsafe.Pointer(raw)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		switch errno {
		case 0:
			return os.NewFile(fd, path), nil
		case syscall.EINTR, syscall.EAGAIN:
			continue
		case syscall.ENOSYS, syscall.EPERM:
			return openByText(path, flags, errno)
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: errno}
	}
}

// openByText is for kernels before 5.6, and filters that do not know openat2. Links are followed by their text, by which
// a magic link leads to its target as this process sees it.
func openByText(path string, flags int, errno syscall.Errno) (*os.File, error) {
	if err := syscall.Access("/proc/self/fd", 0); err != nil {
		return nil, errno
	}
	directory, name := splitPath(path)
	if flags&syscall.O_NOFOLLOW == 0 {
		directory, name = path, ""
	}
	resolved, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(resolved, name), flags|syscall.O_NOFOLLOW, 0)
}

// hasTooManyLinks tells the other reason for ELOOP from magic links, which open(2) follows.
func hasTooManyLinks(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, syscall.ELOOP)
}

func isProcessOwn(file *os.File) bool {
	var system syscall.Statfs_t
	if err := syscall.Fstatfs(int(file.Fd()), &system); err != nil || system.Type != procMagic {
		return err != nil
	}
	place, err := os.Readlink("/proc/self/fd/" + decimal(int64(file.Fd())))
	return err != nil || processOwn.MatchString(place)
}

func processOwned(path string) error {
	return answer.Refused("file_forbidden", "%q is what a process has for itself: run a command there to read it.", path)
}

// statResolved describes what a path leads to; with O_NOFOLLOW, the link itself.
func statResolved(path string, flags int) (os.FileInfo, error) {
	file, err := openResolved(path, pathOnly|flags)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}
