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

// find looks a program up as execvp(3) does, on the PATH that the command will have.
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
		// Not filepath.Join, which would drop "./" and so make execve look no further than a name.
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
	// Without what PATH is: it may be the caller's, whose values are not recorded.
	return "", answer.Refused("program_not_found", "There is no program %q on PATH.", name)
}

// codeOf tells a program that is not there from one that cannot be run, as shells do with 127 and 126.
func codeOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "program_not_found"
	}
	return "program_not_executable"
}

// executable says why the command's user could not execute the file; only exec itself knows everything.
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

// reasonOf is the system's words for an error, without the path and the call that Go puts before them.
func reasonOf(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
