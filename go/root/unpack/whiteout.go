package unpack

import (
	"errors"
	"os"
	"path"
	"strings"
)

const (
	whiteout = ".wh."
	// ownWhiteout prefixes names about a folder itself; opaque hides its content from earlier layers.
	ownWhiteout = ".wh..wh."
	opaque      = ".wh..wh..opq"
)

// whiteout removes files of earlier layers if the name is a whiteout; files of this layer stay.
func (l *layer) whiteout(place string) (bool, error) {
	folder, name := path.Split("/" + place)
	if !l.hasWhiteouts || !strings.HasPrefix(name, whiteout) {
		return false, nil
	}
	if l.made == nil {
		return true, nil // no layer is before
	}
	if name == opaque {
		return true, l.clear(path.Clean(folder))
	}
	if strings.HasPrefix(name, ownWhiteout) {
		return true, nil
	}
	hidden := strings.TrimPrefix(name, whiteout)
	if hidden == "" || hidden == "." || hidden == ".." {
		return true, errors.New("it takes nothing away")
	}
	at := path.Join(folder, hidden)
	if l.made[at] {
		return true, nil
	}
	return true, os.RemoveAll(at)
}

// clear removes everything from a folder that this layer has not created.
func (l *layer) clear(folder string) error {
	names, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, each := range names {
		at := path.Join(folder, each.Name())
		if !l.made[at] {
			err = os.RemoveAll(at)
		} else if each.IsDir() {
			err = l.clear(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
