package commands

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// markers is the folder of started commands: one folder each, created before the start and never removed.
type markers struct{ folder string }

const (
	requestFile = "request.json"
	logFile     = "log"
	exitFile    = "exit.json"
)

// requested is the content of request.json, without environment and standard input, which may hold secrets.
type requested struct {
	Command   *string  `json:"command"`
	Argv      []string `json:"argv"`
	User      string   `json:"user"`
	Cwd       string   `json:"cwd"`
	StartedAt string   `json:"startedAt"`
}

func (m markers) path(id, name string) string { return filepath.Join(m.folder, id, name) }

// make creates the start marker. Only the caller that gets true may start the command.
func (m markers) make(id string) (bool, error) {
	err := os.Mkdir(filepath.Join(m.folder, id), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// secure syncs the markers to disk, to survive a power loss.
func (m markers) secure() error {
	folder, err := os.Open(m.folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// remove deletes a marker when certainly nothing was started.
func (m markers) remove(id string) { _ = os.RemoveAll(filepath.Join(m.folder, id)) }

func (m markers) there(id string) bool {
	_, err := os.Lstat(filepath.Join(m.folder, id))
	return err == nil
}

// readExit returns nil without an error when no exit is recorded.
func (m markers) readExit(id string) (*commandExit, error) {
	content, err := os.ReadFile(m.path(id, exitFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	exit := new(commandExit)
	return exit, json.Unmarshal(content, exit)
}

// writeExit writes exit.json atomically. A file that a power loss has damaged before secureExit counts as missing,
// and the command's outcome as unknown.
func (m markers) writeExit(id string, exit *commandExit) error {
	content, err := json.Marshal(exit)
	if err != nil {
		return err
	}
	return writeWhole(m.path(id, exitFile), content)
}

// secureExit syncs the exit after it was reported, so that no client waits for the disk.
func (m markers) secureExit(id string) {
	file, err := os.Open(m.path(id, exitFile))
	if err != nil {
		return
	}
	defer file.Close()
	_ = file.Sync()
}

func (m markers) writeRequest(id string, r requested) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(m.path(id, requestFile), content, 0o600)
}

func (m markers) readRequest(id string) (requested, error) {
	var r requested
	content, err := os.ReadFile(m.path(id, requestFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(content, &r)
}

func (m markers) createLog(id string) (*os.File, error) {
	return os.OpenFile(m.path(id, logFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// writeWhole writes a file beside the target, then renames it.
func writeWhole(target string, content []byte) error {
	aside := target + ".new"
	file, err := os.OpenFile(aside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close())
	if err != nil {
		_ = os.Remove(aside)
		return err
	}
	return os.Rename(aside, target)
}

// isFull reports whether the disk or a quota is full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
