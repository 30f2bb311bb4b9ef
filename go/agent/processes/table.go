package processes

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// Table maps pids to processes.
type Table map[int]Process

// All returns all processes but this one.
func All() Table {
	names, _ := os.ReadDir("/proc")
	found := make(Table, len(names))
	for _, entry := range names {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, ok := find(pid); ok {
				found[pid] = p
			}
		}
	}
	delete(found, os.Getpid())
	return found
}

// Descends reports whether p is a descendant of ancestor.
func (t Table) Descends(p Process, ancestor int) bool {
	for range len(t) {
		if p.Parent == ancestor {
			return true
		}
		above, known := t[p.Parent]
		if !known {
			return false
		}
		p = above
	}
	return false
}

// politeness is the time between SIGTERM and SIGKILL.
const politeness = time.Second

// End sends SIGTERM to processes, and later SIGKILL to those that remain.
func End(all []Process) {
	for _, p := range all {
		p.signal(syscall.SIGTERM)
		// Stopped processes get SIGTERM only after SIGCONT.
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
