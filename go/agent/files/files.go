// Package files reads and writes the guest's files for the host: files, directories and tar archives.
package files

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mayfly/agent/answer"
)

// service reads and writes the guest's files for the host. It runs as root: the API authorizes access, and paths
// resolve as in open(2).
type service struct {
	// loginUser owns new files, unless the request names an owner.
	loginUser string
	journal   *journal
}

// Register adds routes for files, directories and tar archives. It first removes temporary files of a killed agent.
func Register(mux *http.ServeMux, state, loginUser string) error {
	journal, err := openJournal(filepath.Join(state, "uploads"))
	if err != nil {
		return err
	}
	f := &service{loginUser: loginUser, journal: journal}
	mux.HandleFunc("GET /v1/files", answering(f.get))
	mux.HandleFunc("HEAD /v1/files", answering(f.head))
	mux.HandleFunc("PUT /v1/files", answering(f.put))
	mux.HandleFunc("DELETE /v1/files", answering(f.remove))
	mux.HandleFunc("GET /v1/directory", answering(f.list))
	mux.HandleFunc("GET /v1/tar", answering(f.getTar))
	mux.HandleFunc("PUT /v1/tar", answering(f.putTar))
	return nil
}

// answering writes the error of a handler, which must not have written a response yet.
func answering(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil {
			answer.Error(w, err)
		}
	}
}

// get sends the content of a regular file, or one range of it. It follows symbolic links.
func (f *service) get(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	file, info, err := openRegular(path)
	if err != nil {
		if leadsToDirectory(path) {
			w.Header().Set("X-Mayfly-Type", "directory")
		}
		return refusalOf(path, err)
	}
	defer file.Close()
	closed, err := closedOf(r)
	if err != nil {
		return err
	}
	if isClosed(closed, info) {
		return answer.Refused("file_forbidden", "%q holds passwords of the desktop.", path)
	}
	describe(w.Header(), info)
	w.Header().Set("Content-Type", "application/octet-stream")
	if info.Size() == 0 {
		return sendUnsized(w, file, path)
	}
	return sendRange(w, r, file, info)
}

// openRegular opens a regular file for reading without blocking, and refuses other types.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	// Checked before the open, which has side effects on some devices.
	info, err := statResolved(path, 0)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, answer.Refused("file_conflict", "%q is no file but a %s.", path, typeOf(info.Mode()))
	}
	file, err := openResolved(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY)
	if err != nil {
		return nil, nil, err
	}
	info, err = file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = answer.Refused("file_conflict", "%q was replaced while it was being opened.", path)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// sendUnsized sends a file of size 0: it is empty, or in /proc, whose files have content but no size.
func sendUnsized(w http.ResponseWriter, file *os.File, path string) error {
	// Only a few files of /proc and /sys block (kmsg, trace_pipe); others support no deadlines.
	_ = file.SetReadDeadline(time.Now().Add(time.Second))
	buffer := make([]byte, blockBytes)
	n, err := fill(file, buffer)
	if err != nil && err != io.EOF {
		return refusalOf(path, err) // also when something had come: nobody could tell that it was not all
	}
	if err == io.EOF {
		w.Header().Set("Content-Length", decimal(int64(n)))
	}
	w.WriteHeader(http.StatusOK)
	if _, writeErr := w.Write(buffer[:n]); writeErr != nil || err == io.EOF {
		return nil
	}
	if _, err := copyBlocks(w, file); err != nil {
		breakOff()
	}
	return nil
}

// head describes the file at a path, without following a final symbolic link.
func (f *service) head(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	info, err := statResolved(path, syscall.O_NOFOLLOW)
	if err != nil {
		return refusalOf(path, err)
	}
	describe(w.Header(), info)
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return refusalOf(path, err)
		}
		w.Header().Set("X-Mayfly-Target", percentEncoded(target))
	}
	if info.Mode().IsRegular() {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", decimal(info.Size()))
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// remove deletes a file, a link (never its target), an empty directory or, with recursive, a whole one.
func (f *service) remove(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	recursive, err := flagOf(r.URL.Query(), "recursive")
	if err != nil {
		return err
	}
	// With a trailing slash a link would mean the directory that it points to.
	path = strings.TrimRight(path, "/")
	directory, name := splitPath("/" + path)
	switch name {
	case "":
		return answer.Refused("file_conflict", "The root directory cannot be removed.")
	case ".", "..":
		return answer.Refused("file_conflict", "%q is not removed: give the directory's own name.", path)
	}
	root, err := openDirectory(directory)
	if err != nil {
		return refusalOf(path, err)
	}
	defer root.Close()
	if _, err := root.Lstat(name); err != nil {
		return refusalOf(path, err)
	}
	if recursive {
		err = root.RemoveAll(name)
	} else {
		err = root.Remove(name)
	}
	if err != nil {
		return refusalOf(path, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func leadsToDirectory(path string) bool {
	info, err := statResolved(path, 0)
	return err == nil && info.IsDir()
}
