package files

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// temporaryPrefix begins the name of every file that is being written.
const temporaryPrefix = ".mayfly-"

// journal remembers the temporary files of uploads, so that an agent that is started after one that was killed can
// remove them. An entry is a symbolic link, named like the temporary file and pointing to it: made and removed by one
// system call each, so it is never half written.
type journal struct{ folder string }

// openJournal removes the temporary files that are still in the journal.
func openJournal(folder string) (*journal, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	links, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		path := filepath.Join(folder, link.Name())
		target, err := os.Readlink(path)
		if err == nil && strings.HasPrefix(link.Name(), temporaryPrefix) && strings.HasSuffix(target, "/"+link.Name()) {
			err = os.Remove(target)
		}
		// A file that cannot be removed now stays in the journal for the next start.
		if err == nil || os.IsNotExist(err) {
			err = os.Remove(path)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "an unfinished upload stays:", err)
		}
	}
	return &journal{folder: folder}, nil
}

// stage is where one upload writes before what it wrote appears under its own name: one temporary name in a directory
// of the same file system.
type stage struct {
	root *os.Root
	name string
	link string
}

// stage begins an upload into a directory, or below it.
func (j *journal) stage(root *os.Root, directory string) (*stage, error) {
	name := temporaryPrefix + strings.ToLower(rand.Text())
	link := filepath.Join(j.folder, name)
	if err := os.Symlink(strings.TrimRight(directory, "/")+"/"+name, link); err != nil {
		return nil, err
	}
	return &stage{root: root, name: name, link: link}, nil
}

// create makes the temporary file.
func (s *stage) create() (*os.File, error) {
	return s.root.OpenFile(s.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// place gives what was staged its own name, in one step, in place of whatever had it.
func (s *stage) place(name string) error {
	return s.root.Rename(s.name, name)
}

// clear removes what was staged and not placed; nothing is there otherwise.
func (s *stage) clear() {
	_ = s.root.Remove(s.name)
}

// end leaves nothing but what was placed.
func (s *stage) end() {
	s.clear()
	_ = os.Remove(s.link)
}
