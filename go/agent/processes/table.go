package processes

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// Table holds processes by their numbers.
type Table map[int]Process

// All are those that there are, without this one.
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

// Descends tells whether p is below ancestor.
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

// politeness is how long a process has to end after SIGTERM.
const politeness = time.Second

// End asks all of them to end, and kills what has not after a while.
func End(all []Process) {
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
