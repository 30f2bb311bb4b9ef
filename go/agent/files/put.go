package files

import (
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"

	"mayfly/agent/answer"
)

// maxLinks is the limit of followed symbolic links, as in path_resolution(7).
const maxLinks = 40

// newFileMode is the default mode of a new file.
const newFileMode = 0o644

// newDirectoryMode is the mode of created parent directories.
const newDirectoryMode = 0o755

type putOptions struct {
	// mode and owner are nil by default.
	mode    *uint32
	owner   *owner
	parents bool
}

func putOptionsOf(r *http.Request, loginUser string) (putOptions, error) {
	query := r.URL.Query()
	mode, err := modeOf(query)
	if err != nil {
		return putOptions{}, err
	}
	asked, err := ownerAsked(query, loginUser)
	if err != nil {
		return putOptions{}, err
	}
	parents, err := flagOf(query, "parents")
	return putOptions{mode, asked, parents}, err
}

// put creates or replaces a file atomically: the old content stays until the new one is on disk.
func (f *service) put(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	options, err := putOptionsOf(r, f.loginUser)
	if err != nil {
		return err
	}
	target, err := followed(path)
	if err != nil {
		return refusalOf(path, err)
	}
	existed, info, err := f.write(target, options, r.Body)
	if err != nil {
		return refusalOf(path, err)
	}
	status := http.StatusCreated
	if existed {
		status = http.StatusOK
	}
	_, name := splitPath(path)
	answer.JSON(w, status, entryOf(name, "", info, newOwnerNames()))
	return nil
}

// write writes a file next to its target, then renames it.
func (f *service) write(path string, options putOptions, body io.Reader) (existed bool, info os.FileInfo, err error) {
	directory, name := splitPath(path)
	if name == "" || name == "." || name == ".." {
		return false, nil, syscall.EISDIR
	}
	maker := options.owner
	if maker == nil {
		if maker, err = ownerNamed(f.loginUser); err != nil {
			return false, nil, err
		}
	}
	if options.parents {
		undo, err := makeDirectories(directory, *maker)
		if err != nil {
			return false, nil, err
		}
		defer func() {
			if info == nil {
				undo()
			}
		}()
	}
	root, err := openDirectory(directory)
	if err != nil {
		return false, nil, err
	}
	defer root.Close()
	rights, existed, err := rightsFor(root, name, options, *maker)
	if err != nil {
		return false, nil, err
	}
	stage, err := f.journal.stage(root, directory)
	if err != nil {
		return false, nil, err
	}
	defer stage.end()
	info, err = writeStaged(stage, name, rights, body)
	if err != nil {
		return false, nil, err
	}
	return existed, info, syncDirectory(root)
}

// rights are a file's mode and owner.
type rights struct {
	mode  uint32
	owner owner
}

// rightsFor returns the rights of the new file: those of the request, else those of the file that it replaces, else
// the defaults.
func rightsFor(root *os.Root, name string, options putOptions, maker owner) (r rights, existed bool, err error) {
	r = rights{newFileMode, maker}
	present, err := root.Lstat(name)
	if err != nil && !os.IsNotExist(err) {
		return r, false, err
	}
	if err == nil {
		if !present.Mode().IsRegular() {
			return r, false, answer.Refused("file_conflict", "A %s is there; only files are replaced.", typeOf(present.Mode()))
		}
		stat := statOf(present)
		r.mode = modeBits(present.Mode())
		if options.owner == nil {
			r.owner = owner{int(stat.Uid), int(stat.Gid)}
		}
	}
	if options.mode != nil {
		r.mode = *options.mode
	}
	return r, err == nil, nil
}

func writeStaged(stage *stage, name string, r rights, body io.Reader) (os.FileInfo, error) {
	file, err := stage.create()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := copyBlocks(file, body); err != nil {
		return nil, err
	}
	if err := setRights(file, r); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return info, stage.place(name)
}

// setRights sets the owner first, since chown(2) clears set-user-id.
func setRights(file *os.File, r rights) error {
	if err := file.Chown(r.owner.uid, r.owner.gid); err != nil {
		return err
	}
	return file.Chmod(fileMode(r.mode))
}

// followed resolves a symbolic link at the end of a path, as open(2) would; the target may be missing.
func followed(path string) (string, error) {
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			// No link, or nothing: the write reports any problem.
			return path, nil
		}
		if !strings.HasPrefix(target, "/") {
			directory, _ := splitPath(path)
			target = directory + "/" + target
		}
		path = target
	}
	return "", syscall.ELOOP
}

// splitPath splits a path at its last slash. Unlike package filepath it normalizes nothing: "a/../b" need not be
// "b".
func splitPath(path string) (directory, name string) {
	slash := strings.LastIndexByte(path, '/')
	if slash == 0 {
		return "/", path[1:]
	}
	return path[:slash], path[slash+1:]
}

func syncDirectory(root *os.Root) error {
	directory, err := root.Open(".")
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

// makeDirectories creates the missing directories of a path. undo removes those that are empty.
func makeDirectories(path string, o owner) (undo func(), err error) {
	var made []string
	undo = func() {
		for i := len(made) - 1; i >= 0; i-- {
			_ = os.Remove(made[i])
		}
	}
	for end := 1; end <= len(path); end++ {
		prefix := path[:end]
		if end < len(path) && path[end] != '/' || leadsToDirectory(prefix) {
			continue
		}
		err := os.Mkdir(prefix, newDirectoryMode)
		if os.IsExist(err) && leadsToDirectory(prefix) {
			continue // another upload has made it meanwhile
		}
		if _, refusal := statResolved(prefix, 0); os.IsExist(err) && refusal != nil {
			err = refusal
		}
		if err != nil {
			undo()
			return nil, err
		}
		made = append(made, prefix)
		if err := ownDirectory(prefix, o); err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

// ownDirectory sets the owner and mode of a new directory, since the umask limits mkdir(2).
func ownDirectory(path string, o owner) error {
	if err := os.Lchown(path, o.uid, o.gid); err != nil {
		return err
	}
	return os.Chmod(path, newDirectoryMode)
}
