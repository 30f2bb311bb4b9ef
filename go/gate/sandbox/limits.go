package sandbox

import (
	"fmt"
	"syscall"
)

// Limits of every stage, setrlimit(2). RLIMIT_FSIZE 0 forbids writes to regular files, even where Landlock and the
// file's mode allow them; it does not affect pipes and /dev/null.
const (
	rlimitProcesses = 6 // RLIMIT_NPROC, which package syscall does not have
	openFiles       = 256
	processes       = 128
	niceness        = 10
)

func limit(needs Needs) error {
	for _, bound := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"RLIMIT_FSIZE", syscall.RLIMIT_FSIZE, 0},
		{"RLIMIT_CORE", syscall.RLIMIT_CORE, 0},
		{"RLIMIT_DATA", syscall.RLIMIT_DATA, needs.MemoryBytes},
		{"RLIMIT_CPU", syscall.RLIMIT_CPU, needs.CPUSeconds},
		{"RLIMIT_NOFILE", syscall.RLIMIT_NOFILE, openFiles},
		{"RLIMIT_NPROC", rlimitProcesses, processes},
	} {
		both := syscall.Rlimit{Cur: bound.value, Max: bound.value}
		if err := syscall.Setrlimit(bound.resource, &both); err != nil {
			return fmt.Errorf("setrlimit(%s): %w", bound.name, err)
		}
	}
	return yield()
}

// yield raises the niceness to the minimum. An sshd may run nicer already, and only root may lower it.
func yield() error {
	// The system call returns 20 - nice, which is never negative (getpriority(2), "C library/kernel differences").
	answer, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return fmt.Errorf("getpriority: %w", err)
	}
	if 20-answer >= niceness {
		return nil
	}
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	return nil
}
