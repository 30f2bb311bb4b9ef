package processes

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// CommandVariable holds the command's id in the environment of all its processes, also of detached ones.
const CommandVariable = "MAYFLY_COMMAND_ID"

// Tree is the set of a command's processes: its control group, where the guest has cgroup v2; else its main process
// and session, processes with its id in their environment, and all descendants.
type Tree struct {
	id    string
	group string
	main  int
	// born is the start time of the main process, which detects a reused pid.
	born string
}

// NewTree creates the command's control group, where the guest supports it.
func NewTree(root, id string) *Tree {
	t := &Tree{id: id}
	if root == "" {
		return t
	}
	group := filepath.Join(root, id)
	if os.Mkdir(group, 0o755) == nil || isDirectory(group) {
		t.group = group
	}
	return t
}

// `Begun` sets the main process.
func (t *Tree) Begun(pid int) {
	t.main = pid
	unprotect(pid)
	if t.group == "" {
		if about, ok := find(pid); ok {
			t.born = about.born
		}
	}
}

// Unprotect removes the inherited protection against the OOM killer from processes that started before `Begun`.
func (t *Tree) Unprotect() {
	if t.group != "" {
		for _, pid := range listed(t.group) {
			unprotect(pid)
		}
	}
}

func unprotect(pid int) {
	// The process may have ended, or an agent without root has no protection to remove.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("0"), 0)
}

// Signal signals every current process, parents first: a shell must not continue after its child has ended.
func (t *Tree) Signal(signals ...syscall.Signal) {
	pids := t.members()
	born := map[int]string{}
	for _, pid := range pids {
		if p, ok := find(pid); ok {
			born[pid] = p.born
		}
	}
	slices.SortFunc(pids, func(a, b int) int {
		// Clock ticks since boot in decimal: a longer number is larger.
		return cmp.Or(cmp.Compare(len(born[a]), len(born[b])), cmp.Compare(born[a], born[b]), cmp.Compare(a, b))
	})
	for _, pid := range pids {
		for _, one := range signals {
			_ = syscall.Kill(pid, one)
		}
	}
}

// ControlGroup returns the folder of the command's control group; empty for none.
func (t *Tree) ControlGroup() string { return t.group }

// Kill kills every process. Call it until the tree is empty, since processes may fork in between.
func (t *Tree) Kill() {
	if t.group != "" && os.WriteFile(filepath.Join(t.group, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	t.Signal(syscall.SIGKILL)
}

// Empty reports whether the tree has no processes.
func (t *Tree) Empty() bool { return len(t.members()) == 0 }

// Forget removes the control group if it is empty.
func (t *Tree) Forget() {
	if t.group != "" {
		_ = os.Remove(t.group)
	}
}

func (t *Tree) members() []int {
	if t.group != "" {
		return groupMembers(t.group)
	}
	processes := All()
	members := map[int]bool{}
	leader, known := processes[t.main]
	ours := t.main != 0 && (!known || leader.born == t.born)
	for pid, p := range processes {
		if ours && (pid == t.main || p.session == t.main) || p.carries(t.id) {
			members[pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, p := range processes {
			if !members[pid] && members[p.Parent] {
				members[pid] = true
				grown = true
			}
		}
	}
	pids := make([]int, 0, len(members))
	for pid := range members {
		if !processes[pid].zombie {
			pids = append(pids, pid)
		}
	}
	return pids
}
