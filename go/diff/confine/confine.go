// Package confine irrevocably drops all privileges of this process but reading its open files. An exploited bug has
// no file, socket or program to reach.
package confine

import (
	"fmt"
	"runtime"
	"syscall"
)

const (
	// MemoryBytes is RLIMIT_DATA, the limit of allocations.
	MemoryBytes = 1 << 30
	// cpuSeconds stops a program that fails to check its own deadline.
	cpuSeconds = 600

	prSetPdeathsig  = 1
	prSetNoNewPrivs = 38
)

// Process confines all threads. As root it first changes to the user, and refuses uid 0.
func Process(uid int) error {
	// prctl applies to one thread, and the kernel accepts a filter only with no_new_privs set.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := limit(); err != nil {
		return err
	}
	if err := becomeUser(uid); err != nil {
		return err
	}
	// A change of user clears this setting.
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
