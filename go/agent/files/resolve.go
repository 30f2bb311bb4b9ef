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
	// pathOnly is O_PATH: it opens a file without access to its content, so without side effects on devices.
	pathOnly = 0x200000
	// noMagicLinks is RESOLVE_NO_MAGICLINKS of openat2(2): it refuses /proc/PID/root and similar links.
	noMagicLinks = 0x02
	openat2Call  = 437
	atCwd        = -100
	procMagic    = 0x9fa0
)

// processOwn matches names in /proc that expose the memory, environment or view of a process, or of the kernel.
var processOwn = regexp.MustCompile(`/(root|cwd|exe|environ|mem|auxv|kcore|(fd|map_files)(/[^/]*)?)$`)

// openHow is struct open_how of openat2(2).
type openHow struct{ flags, mode, resolve uint64 }

// openResolved opens a path, but never through or to private data of a process in /proc: mounts, memory and
// environments hold others' secrets. The check applies to the resolved path, so links cannot circumvent it.
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

// openByText serves kernels before 5.6, and seccomp filters without openat2. It follows links by their text, so a
// magic link leads to its target in the view of this process.
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

// hasTooManyLinks distinguishes too many links, the other cause of ELOOP, from magic links, which open(2) follows.
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

// statResolved describes the file at a path; with O_NOFOLLOW, the link itself.
func statResolved(path string, flags int) (os.FileInfo, error) {
	file, err := openResolved(path, pathOnly|flags)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}
