package files

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// temporaryPrefix is the prefix of files that are being written.
const temporaryPrefix = ".mayfly-"

// journal records the temporary files of uploads, so that the next agent can remove those of a killed one. An entry
// is a symbolic link with the name of the temporary file, pointing to it: one atomic system call creates or removes
// it.
type journal struct{ folder string }

// openJournal removes the temporary files in the journal.
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
		// A file that cannot be removed stays in the journal for the next start.
		if err == nil || os.IsNotExist(err) {
			err = os.Remove(path)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "an unfinished upload stays:", err)
		}
	}
	return &journal{folder: folder}, nil
}

// stage is the temporary file of one upload, in a directory of the target's file system.
type stage struct {
	root *os.Root
	name string
	link string
}

// stage starts an upload into a directory, or below it.
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

// place renames the staged file to its final name, atomically, replacing any other.
func (s *stage) place(name string) error {
	return s.root.Rename(s.name, name)
}

// clear removes the staged file unless it was placed.
func (s *stage) clear() {
	_ = s.root.Remove(s.name)
}

// end removes the staged file and its journal entry.
func (s *stage) end() {
	s.clear()
	_ = os.Remove(s.link)
}
