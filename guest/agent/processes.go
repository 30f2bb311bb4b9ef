package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type processTable map[int]process

// descends tells whether p is below ancestor.
func (t processTable) descends(p process, ancestor int) bool {
	for range len(t) {
		if p.parent == ancestor {
			return true
		}
		above, known := t[p.parent]
		if !known {
			return false
		}
		p = above
	}
	return false
}

func (p process) folder() string { return "/proc/" + strconv.Itoa(p.pid) }

// program is the file that it runs, without its folder; empty when it has ended.
func (p process) program() string {
	path, _ := os.Readlink(p.folder() + "/exe")
	return strings.TrimSuffix(filepath.Base(path), " (deleted)")
}

func (p process) uid() (uint32, bool) {
	about, err := os.Stat(p.folder())
	if err != nil {
		return 0, false
	}
	return about.Sys().(*syscall.Stat_t).Uid, true
}

// variable is of the environment that the process was started with; it may have written over it since.
func (p process) variable(name string) (string, bool) {
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
func (p process) signal(signal syscall.Signal) bool {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return false
	}
	defer func() { _ = handle.Release() }()
	// The handle, a pidfd, is held to one process; this tells whether to the right one.
	now, there := processOf(p.pid)
	return there && !now.zombie && now.born == p.born && handle.Signal(signal) == nil
}

// endProcesses asks all of them to end, and kills what has not after a while.
func endProcesses(all []process) {
	for _, p := range all {
		p.signal(syscall.SIGTERM)
		// A stopped one does not hear it.
		p.signal(syscall.SIGCONT)
	}
	for waited := time.Duration(0); waited < politeness; waited += politeness / 20 {
		alive := false
		for _, p := range all {
			alive = p.signal(0) || alive
		}
		if !alive {
			return
		}
		time.Sleep(politeness / 20)
	}
	for _, p := range all {
		p.signal(syscall.SIGKILL)
	}
}
