// Package unpack creates a tree from untrusted archives. It writes nothing outside of the tree, which is the
// process's root directory during the work, so links cannot escape.
package unpack

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// mostEntries limits the entries of all layers: a million would not fit a guest's memory.
const mostEntries = 500_000

// mounted are mount points of a machine: entries below them are skipped.
var mounted = map[string]bool{"dev": true, "proc": true, "sys": true, "run": true}

// Root is a tree that is being created.
type Root struct {
	folder  string
	entries int
	layers  int
	// largest is the limit of a file, bytes: the size of its file system.
	largest int64
}

// New creates an empty tree at an unused path.
func New(folder string) (*Root, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return nil, err
	}
	return &Root{folder: folder, largest: int64(stat.Blocks) * stat.Bsize}, nil
}

// Within calls work with the tree as this process's root directory.
func (r *Root) Within(work func() error) error {
	outside, err := os.Open("/")
	if err != nil {
		return err
	}
	defer outside.Close()
	if err := enter(r.folder); err != nil {
		return err
	}
	failure := work()
	if err := outside.Chdir(); err != nil {
		return err
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	return failure
}

func enter(folder string) error {
	if err := syscall.Chroot(folder); err != nil {
		return fmt.Errorf("chroot %s: %w", folder, err)
	}
	return os.Chdir("/")
}

// folderTime is the time of a folder, set after all of its entries.
type folderTime struct {
	path string
	time time.Time
}
