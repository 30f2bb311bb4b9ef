// Package processes reads and ends the guest's processes, by /proc and control groups.
package processes

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is a process at the time of a read of /proc.
type Process struct {
	PID     int
	Parent  int
	session int
	born    string
	zombie  bool
}

// find reads /proc/PID/stat. Fields are counted from the last parenthesis, since a name may contain parentheses.
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

// Program returns the base name of its executable; empty when it has ended.
func (p Process) Program() string {
	path, _ := os.Readlink(p.folder() + "/exe")
	return strings.TrimSuffix(filepath.Base(path), " (deleted)")
}

// Title returns its command line, which the process may have overwritten.
func (p Process) Title() string {
	text, _ := os.ReadFile(p.folder() + "/cmdline")
	return strings.TrimRight(string(text), "\x00 ")
}

// UID returns its user id; false when it has ended.
func (p Process) UID() (uint32, bool) {
	about, err := os.Stat(p.folder())
	if err != nil {
		return 0, false
	}
	return about.Sys().(*syscall.Stat_t).Uid, true
}

// Variable returns a variable of its initial environment, which the process may have overwritten.
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

// signal signals the process, unless its pid was reused.
func (p Process) signal(signal syscall.Signal) bool {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	defer func() { _ = handle.Release() }()
	// The handle, a pidfd, refers to one process; this checks that it is the right one.
	now, there := find(p.PID)
	return there && !now.zombie && now.born == p.born && handle.Signal(signal) == nil
}
