package processes

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// CommandVariable names the command in the environment of all its processes, also of those that have detached themselves.
const CommandVariable = "MAYFLY_COMMAND_ID"

// Tree is all processes of a command: those of its control group, where the guest has cgroup v2. Elsewhere its main
// process and session, whoever carries its id in the environment, and all their descendants.
type Tree struct {
	id    string
	group string
	main  int
	// born is the start time of the main process, by which another one with its number is told apart.
	born string
}

// NewTree makes the command's control group, where there can be one.
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

// Begun says which process is the main one.
func (t *Tree) Begun(pid int) {
	t.main = pid
	unprotect(pid)
	if t.group == "" {
		if about, ok := find(pid); ok {
			t.born = about.born
		}
	}
}

// Unprotect takes from processes that were born before Begun what they have inherited from the agent: protection
// against the kernel's out-of-memory killer.
func (t *Tree) Unprotect() {
	if t.group != "" {
		for _, pid := range listed(t.group) {
			unprotect(pid)
		}
	}
}

func unprotect(pid int) {
	// The process may have ended; and an agent that is not root has no protection to give.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("0"), 0)
}

// Signal sends to every process there is now, parents first: a shell must not go on after its child has ended.
func (t *Tree) Signal(signals ...syscall.Signal) {
	pids := t.members()
	born := map[int]string{}
	for _, pid := range pids {
		if p, ok := find(pid); ok {
			born[pid] = p.born
		}
	}
	slices.SortFunc(pids, func(a, b int) int {
		// Clock ticks since the boot, as decimal numbers: the longer one is the larger.
		return cmp.Or(cmp.Compare(len(born[a]), len(born[b])), cmp.Compare(born[a], born[b]), cmp.Compare(a, b))
	})
	for _, pid := range pids {
		for _, one := range signals {
			_ = syscall.Kill(pid, one)
		}
	}
}

// ControlGroup is the folder of the command's control group, empty where there is none.
func (t *Tree) ControlGroup() string { return t.group }

// Kill ends every process; those that are born meanwhile are met by calling it until the tree is empty.
func (t *Tree) Kill() {
	if t.group != "" && os.WriteFile(filepath.Join(t.group, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	t.Signal(syscall.SIGKILL)
}

// Empty says that no process of it is left.
func (t *Tree) Empty() bool { return len(t.members()) == 0 }

// Forget removes the control group, once nobody is in it.
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
