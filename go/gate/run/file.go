package run

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mayfly/gate/check"
	"mayfly/gate/sandbox"
)

const (
	maxEntries     = 100_000
	maxListBytes   = 8 << 20
	fileTimeout    = 60 * time.Second
	namesPerRead   = 1024
	readChunkBytes = 64 << 10
)

// File sends bytes of a regular file, or the entries of a directory, one line of JSON each; the final frame has
// the type. It refuses devices and FIFOs, which could block, or have side effects when read.
func File(request *FileRequest, out *os.File) error {
	time.AfterFunc(fileTimeout, func() { os.Exit(124) }) // a file system that does not answer
	limit := max(request.Length, maxListBytes)
	answer := NewAnswer(out, limit)
	end := exited()
	entry, err := readFile(request, answer)
	if err != nil {
		end = &End{Outcome: "not-started", Error: faultOf(err)}
	}
	end.File = entry
	return answer.Finish(end)
}

func readFile(request *FileRequest, answer *Answer) (*Entry, error) {
	path, err := request.path()
	if err != nil {
		return nil, err
	}
	if reason := check.FileRefusal(path); reason != "" {
		return nil, fmt.Errorf("%s: %w", reason, fs.ErrPermission)
	}
	if err := sandbox.ConfineToReading(); err != nil {
		return nil, err
	}
	// O_NONBLOCK: the open of a FIFO would wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	entry := entryOf(filepath.Base(path), info, accounts{})
	switch {
	case info.IsDir():
		return entry, list(file, answer)
	case !info.Mode().IsRegular():
		return entry, fmt.Errorf("%s is a %s, not a file", path, entry.Type)
	}
	content := io.NewSectionReader(file, request.Offset, request.Length)
	buffer := make([]byte, readChunkBytes)
	for {
		n, err := content.Read(buffer)
		if n > 0 && !answer.Add(streamStdout, buffer[:n]) || err == io.EOF {
			return entry, nil
		}
		if err != nil {
			return entry, err
		}
	}
}

// list writes the entries in directory order, up to the limit.
func list(directory *os.File, answer *Answer) error {
	known := accounts{}
	for count := 0; count < maxEntries; {
		names, err := directory.Readdirnames(namesPerRead)
		for _, name := range names {
			path := filepath.Join(directory.Name(), name)
			info, err := os.Lstat(path)
			if err != nil {
				continue // it went away, or may not be looked at
			}
			entry := entryOf(name, info, known)
			if entry.Type == "symlink" {
				if target, err := os.Readlink(path); err == nil {
					encoded := base64.StdEncoding.EncodeToString([]byte(target))
					entry.Target = &encoded
				}
			}
			line, err := json.Marshal(entry)
			if err != nil {
				return err
			}
			if !answer.Add(streamStdout, append(line, '\n')) {
				return nil
			}
		}
		count += len(names)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func faultOf(err error) *Fault {
	code := "file_conflict"
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = "file_not_found"
	case errors.Is(err, fs.ErrPermission):
		code = "file_forbidden"
	}
	return &Fault{Code: code, Message: err.Error()}
}
