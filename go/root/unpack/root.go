// Package unpack makes a tree of archives that strangers have written. Whatever they say, nothing is written outside of
// the tree: it is this process's root directory meanwhile, so links lead nowhere else.
package unpack

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// mostEntries of all layers together: a million of them would not fit a guest's memory.
const mostEntries = 500_000

// mounted are folders that a machine mounts something at: what an archive has below them is left out.
var mounted = map[string]bool{"dev": true, "proc": true, "sys": true, "run": true}

// Root is a tree that is being made.
type Root struct {
	folder  string
	entries int
	layers  int
	// largest is what a file may have, bytes: no more than its file system.
	largest int64
}

// New makes an empty tree at a path where nothing is.
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

// folderTime is told of folders when all is in them.
type folderTime struct {
	path string
	time time.Time
}
