package processes

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// GroupsRoot returns the folder of the commands' control groups; empty where the guest lacks cgroup.kill.
func GroupsRoot(path string) string {
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

// groupMembers returns the processes of a control group and those below it.
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
