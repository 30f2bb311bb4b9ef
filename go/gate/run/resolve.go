package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mayfly/gate/check"
)

// resolve returns the first of a program's paths that exists. Only root may have write access to it.
func resolve(name string, paths []string) (string, error) {
	for _, path := range paths {
		if !slices.Contains(check.ProgramDirectories, filepath.Dir(path)) {
			return "", fmt.Errorf("%s is not where programs may be", path)
		}
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return path, trusted(real)
	}
	return "", fmt.Errorf("%s is not installed on the source", name)
}

// trusted checks that the file and every directory above it belong to root, and only root can change them.
func trusted(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || stat.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s could be changed by others than root", at)
		}
		if at == path && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a program", at)
		}
		if at == "/" {
			return nil
		}
	}
}
