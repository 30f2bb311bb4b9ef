package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// tree is all processes of a command: those of its control group, where the guest has cgroup v2. Elsewhere its main
// process and session, whoever carries its id in the environment, and all their descendants.
type tree struct {
	id    string
	group string
	main  int
	// born is the start time of the main process, by which another one with its number is told apart.
	born string
}

// groupsRoot is where the commands' control groups are made; empty where the guest has none that can be killed.
func groupsRoot(path string) string {
	if path == "" || os.Mkdir(path, 0o755) != nil && !isDirectory(path) {
		return ""
	}
	if _, err := os.Stat(filepath.Join(path, "cgroup.kill")); err != nil {
		return ""
	}
	return path
}

func isDirectory(path string) bool {
	about, err := os.Lstat(path)
	return err == nil && about.IsDir()
}

// newTree makes the command's control group, where there can be one.
func newTree(root, id string) *tree {
	t := &tree{id: id}
	if root == "" {
		return t
	}
	group := filepath.Join(root, id)
	if os.Mkdir(group, 0o755) == nil || isDirectory(group) {
		t.group = group
	}
	return t
}

// begun says which process is the main one.
func (t *tree) begun(pid int) {
	t.main = pid
	unprotect(pid)
	if t.group == "" {
		if about, ok := processOf(pid); ok {
			t.born = about.born
		}
	}
}

// unprotect takes from processes that were born before begun what they have inherited from the agent: protection
// against the kernel's out-of-memory killer.
func (t *tree) unprotect() {
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

// signal sends to every process there is now, parents first: a shell must not go on after its child has ended.
func (t *tree) signal(signals ...syscall.Signal) {
	pids := t.members()
	born := map[int]string{}
	for _, pid := range pids {
		if p, ok := processOf(pid); ok {
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

// kill ends every process; those that are born meanwhile are met by calling it until the tree is empty.
func (t *tree) kill() {
	if t.group != "" && os.WriteFile(filepath.Join(t.group, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	t.signal(syscall.SIGKILL)
}

func (t *tree) empty() bool { return len(t.members()) == 0 }

// forget removes the control group, once nobody is in it.
func (t *tree) forget() {
	if t.group != "" {
		_ = os.Remove(t.group)
	}
}

func (t *tree) members() []int {
	if t.group != "" {
		return groupMembers(t.group)
	}
	processes := allProcesses()
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
			if !members[pid] && members[p.parent] {
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

// groupMembers lists a control group with those below it.
func groupMembers(group string) []int {
	pids := listed(group)
	below, _ := os.ReadDir(group)
	for _, entry := range below {
		if entry.IsDir() {
			pids = append(pids, groupMembers(filepath.Join(group, entry.Name()))...)
		}
	}
	return pids
}

func listed(group string) []int {
	var pids []int
	content, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	for _, word := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

type process struct {
	pid, parent, session int
	born                 string
	zombie               bool
}

func allProcesses() map[int]process {
	names, _ := os.ReadDir("/proc")
	found := make(map[int]process, len(names))
	for _, entry := range names {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, ok := processOf(pid); ok {
				found[pid] = p
			}
		}
	}
	delete(found, os.Getpid())
	return found
}

// processOf reads /proc/PID/stat: fields are counted from the last parenthesis, because names may contain any.
func processOf(pid int) (process, bool) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	session, _ := strconv.Atoi(fields[3])
	zombie := fields[0] == "Z" || fields[0] == "X"
	return process{pid: pid, parent: parent, session: session, born: fields[19], zombie: zombie}, true
}

func (p process) carries(id string) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+commandVariable+"="+id+"\x00"))
}
