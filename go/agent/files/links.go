package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mayfly/agent/answer"
)

// errEscapes has the text of os.Root's own error.
var errEscapes = errors.New("path escapes from parent")

// resolve follows the links on the way to an entry, including absolute ones within the directory, all of which
// os.Root refuses. os.Root still opens the result, so a concurrent change cannot escape.
func (u *unpacker) resolve(name string, isDirectory bool) (string, error) {
	if name == "." {
		return name, nil
	}
	rest := strings.Split(name, "/")
	var done []string
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) > 0 {
				done = done[:len(done)-1]
			} else if u.path != "/" {
				return "", &os.PathError{Op: "resolve", Path: name, Err: errEscapes}
			}
			continue
		}
		at := strings.Join(append(done[:len(done):len(done)], part), "/")
		target, err := u.root.Readlink(at)
		isLast := len(rest) == 0 && !isDirectory
		if err != nil || isLast {
			done = append(done, part) // no link, or not there: what is done with it says why
			continue
		}
		if links++; links > maxLinks {
			return "", &os.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		if strings.HasPrefix(target, "/") {
			below, isWithin := u.below(target)
			if !isWithin {
				return "", &os.PathError{Op: "resolve", Path: name, Err: errEscapes}
			}
			done, target = nil, below
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

// below converts an absolute path to one relative to the directory.
func (u *unpacker) below(target string) (string, bool) {
	if u.path == "/" {
		return strings.TrimLeft(target, "/"), true
	}
	clean := filepath.Clean(target)
	if clean == u.path {
		return ".", true
	}
	return strings.CutPrefix(clean, u.path+"/")
}

// maxNameBytes is the longest path of Linux (PATH_MAX without its NUL). It also limits the memory for names of an
// archive.
const maxNameBytes = 4095

// nameWithin normalizes an entry's name ("./", "//"); "." is the directory itself.
func nameWithin(name string) (string, error) {
	if len(name) > maxNameBytes {
		return "", answer.Refused("invalid_request", "The archive has a name of %d bytes; a path has %d at most.", len(name), maxNameBytes)
	}
	var parts []string
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", answer.Refused("invalid_request", "The archive's %q has a part \"..\".", name)
		}
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if strings.HasPrefix(name, "/") {
		return "", answer.Refused("invalid_request", "The archive's %q is an absolute path.", name)
	}
	if len(parts) == 0 {
		return ".", nil
	}
	return strings.Join(parts, "/"), nil
}
