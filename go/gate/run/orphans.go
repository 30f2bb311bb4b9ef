package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const prSetChildSubreaper = 36

// adopt makes this process the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER), so that none escapes.
func adopt() error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", errno)
	}
	return nil
}

// endOrphans kills and reaps the remaining descendants of a pipeline whose own processes are reaped.
func endOrphans() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return
		}
		if pid > 0 || err == syscall.EINTR {
			continue
		}
		for _, child := range children() {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}

func children() []int {
	tasks, _ := os.ReadDir("/proc/self/task")
	var pids []int
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
