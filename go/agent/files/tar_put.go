package files

import (
	"net/http"
	"path/filepath"

	"mayfly/agent/answer"
)

// putTar extracts a tar archive into a directory. os.Root keeps all writes inside, even against links in the
// archive or the directory. Each file appears atomically; a truncated archive leaves the files before the cut.
func (f *service) putTar(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	unpacker, err := f.unpackerOf(r)
	if err != nil {
		return err
	}
	parents, err := flagOf(r.URL.Query(), "parents")
	if err != nil {
		return err
	}
	isNew := false
	if parents && !leadsToDirectory(path) {
		if _, err := makeDirectories(path, unpacker.owner); err != nil {
			return refusalOf(path, err)
		}
		isNew = true
	}
	root, err := openDirectory(path)
	if err != nil {
		return refusalOf(path, err)
	}
	defer root.Close()
	unpacker.root, unpacker.isNew = root, isNew
	if unpacker.path, err = filepath.EvalSymlinks(path); err != nil {
		return refusalOf(path, err)
	}
	if unpacker.stage, err = f.journal.stage(root, path); err != nil {
		return refusalOf(path, err)
	}
	defer unpacker.stage.end()
	if err := unpacker.unpack(r.Body); err != nil {
		return refusalOf(path, err)
	}
	answer.JSON(w, http.StatusOK, map[string]int64{"entries": unpacker.entries, "bytes": unpacker.bytes})
	return nil
}

func (f *service) unpackerOf(r *http.Request) (*unpacker, error) {
	query := r.URL.Query()
	asked, err := ownerAsked(query, f.loginUser)
	if err != nil {
		return nil, err
	}
	if asked == nil {
		if asked, err = ownerNamed(f.loginUser); err != nil {
			return nil, err
		}
	}
	keep, err := flagOf(query, "keepOwners")
	return &unpacker{owner: *asked, keepOwners: keep}, err
}
