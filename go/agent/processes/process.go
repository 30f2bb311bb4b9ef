// Package processes holds what /proc and control groups tell of the guest's processes, and how they are ended.
package processes

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is one of those that /proc showed at some time.
type Process struct {
	PID     int
	Parent  int
	session int
	born    string
	zombie  bool
}

// find reads /proc/PID/stat: fields are counted from the last parenthesis, because names may contain any.
func find(pid int) (Process, bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, false
	}
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 20 {
		return Process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	session, _ := strconv.Atoi(fields[3])
	zombie := fields[0] == "Z" || fields[0] == "X"
	return Process{PID: pid, Parent: parent, session: session, born: fields[19], zombie: zombie}, true
}

func (p Process) carries(id string) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+CommandVariable+"="+id+"\x00"))
}

func (p Process) folder() string { return "/proc/" + strconv.Itoa(p.PID) }

// Program is the file that it runs, without its folder; empty when it has ended.
func (p Process) Program() string {
	path, _ := os.Readlink(p.folder() + "/exe")
	return strings.TrimSuffix(filepath.Base(path), " (deleted)")
}

// Title is what it shows as its command line, which it may have written over.
func (p Process) Title() string {
	text, _ := os.ReadFile(p.folder() + "/cmdline")
	return strings.TrimRight(string(text), "\x00 ")
}

// UID is whom it runs as; false when it has ended.
func (p Process) UID() (uint32, bool) {
	about, err := os.Stat(p.folder())
	if err != nil {
		return 0, false
	}
	return about.Sys().(*syscall.Stat_t).Uid, true
}

// Variable is of the environment that the process was started with; it may have written over it since.
func (p Process) Variable(name string) (string, bool) {
	text, err := os.ReadFile(p.folder() + "/environ")
	if err != nil {
		return "", false
	}
	for _, variable := range strings.Split(string(text), "\x00") {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// signal reaches that process, and no other that has got its number since.
func (p Process) signal(signal syscall.Signal) bool {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	defer func() { _ = handle.Release() }()
	// The handle, a pidfd, is held to one process; this tells whether to the right one.
	now, there := find(p.PID)
	return there && !now.zombie && now.born == p.born && handle.Signal(signal) == nil
}
