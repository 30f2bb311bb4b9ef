// Package confine takes from this process, for good, all but reading the files that it was started with: what an image
// could make of a bug in it would still have no file, no socket and no program to reach.
package confine

import (
	"fmt"
	"runtime"
	"syscall"
)

const (
	// MemoryBytes is RLIMIT_DATA: what the process can allocate.
	MemoryBytes = 1 << 30
	// cpuSeconds is for a program that has lost sight of its own clock.
	cpuSeconds = 600

	prSetPdeathsig  = 1
	prSetNoNewPrivs = 38
)

// Process confines all threads. As root it becomes the user first; uid 0 is refused then.
func Process(uid int) error {
	// prctl is for one thread, and the kernel takes the filter only of one that has given up new privileges.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := limit(); err != nil {
		return err
	}
	if err := becomeUser(uid); err != nil {
		return err
	}
	// The kernel forgets it when the user changes.
	if err := prctl("PR_SET_PDEATHSIG", prSetPdeathsig, uintptr(syscall.SIGKILL)); err != nil {
		return err
	}
	if err := prctl("PR_SET_NO_NEW_PRIVS", prSetNoNewPrivs, 1); err != nil {
		return err
	}
	return filterCalls()
}

func becomeUser(uid int) error {
	if syscall.Geteuid() != 0 {
		return nil
	}
	if uid <= 0 {
		return fmt.Errorf("it does not work as root: -uid must be that of another user")
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("setgroups: %w", err)
	}
	if err := syscall.Setresgid(uid, uid, uid); err != nil {
		return fmt.Errorf("setresgid: %w", err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("setresuid: %w", err)
	}
	return nil
}

func limit() error {
	for _, bound := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"RLIMIT_DATA", syscall.RLIMIT_DATA, MemoryBytes},
		{"RLIMIT_CPU", syscall.RLIMIT_CPU, cpuSeconds},
		{"RLIMIT_CORE", syscall.RLIMIT_CORE, 0},
		{"RLIMIT_FSIZE", syscall.RLIMIT_FSIZE, 0},
	} {
		both := syscall.Rlimit{Cur: bound.value, Max: bound.value}
		if err := syscall.Setrlimit(bound.resource, &both); err != nil {
			return fmt.Errorf("setrlimit(%s): %w", bound.name, err)
		}
	}
	return nil
}

func prctl(name string, option, argument uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("prctl(%s): %w", name, errno)
	}
	return nil
}
