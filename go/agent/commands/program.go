package commands

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mayfly/agent/answer"
)

// find resolves a program as execvp(3) does, on the command's PATH.
func (l *launch) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		if err := l.executable(name); err != nil {
			return "", answer.Refused(codeOf(err), "The program %q cannot be run: %s.", name, reasonOf(err))
		}
		return name, nil
	}
	path := ""
	for _, variable := range l.env {
		if value, found := strings.CutPrefix(variable, "PATH="); found {
			path = value
		}
	}
	var denied error
	for _, folder := range strings.Split(path, ":") {
		if folder == "" {
			folder = "."
		}
		// Not filepath.Join, which would drop "./", and make execve search for a bare name.
		candidate := folder + "/" + name
		err := l.executable(candidate)
		if err == nil {
			return candidate, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied = answer.Refused("program_not_executable", "The program %q on PATH cannot be run: %s.", name, reasonOf(err))
		}
	}
	if denied != nil {
		return "", denied
	}
	// The message omits PATH: it may be the caller's, whose values are not recorded.
	return "", answer.Refused("program_not_found", "There is no program %q on PATH.", name)
}

// codeOf distinguishes a missing program from one that cannot be run, as shells do with 127 and 126.
func codeOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "program_not_found"
	}
	return "program_not_executable"
}

// executable returns why the command's user cannot execute the file, as far as that shows before exec.
func (l *launch) executable(path string) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.cwd, path)
	}
	about, err := os.Stat(path)
	if err != nil {
		return err
	}
	if about.IsDir() {
		return syscall.EISDIR
	}
	owner, ok := about.Sys().(*syscall.Stat_t)
	if !ok || !about.Mode().IsRegular() {
		return syscall.EACCES
	}
	allowed := about.Mode().Perm() & 0o001
	switch {
	case l.account.UID == 0:
		allowed = about.Mode().Perm() & 0o111
	case owner.Uid == l.account.UID:
		allowed = about.Mode().Perm() & 0o100
	case slices.Contains(l.account.Groups, owner.Gid):
		allowed = about.Mode().Perm() & 0o010
	}
	if allowed == 0 {
		return syscall.EACCES
	}
	return nil
}

// reasonOf returns the system's message of an error, without Go's path and call.
func reasonOf(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
