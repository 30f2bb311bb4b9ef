package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// openDataDir creates dir if needed, locks it for this process and makes it the working directory.
//
// The working directory gives the backend's socket a short relative path: socket paths end at 107 bytes. The
// returned file holds the lock, which ends with the process in any case.
func openDataDir(dir string) (*os.File, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the data folder: %w", err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return nil, fmt.Errorf("cannot look at the data folder: %w", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("others may enter the data folder %s (mode %04o): chmod 700 it, or name a folder that is the store's own",
			absolute, info.Mode().Perm())
	}
	if err := os.Chdir(absolute); err != nil {
		return nil, err
	}

	lock, err := os.OpenFile("lock", os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the data folder's lock: %w", err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another store is running on %s: stop it first, or use another --dir", absolute)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}
