// Package sandbox takes from a process what reading does not need, with what the kernel offers to an unprivileged one.
package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

const (
	prSetPdeathsig    = 1
	prSetNoNewPrivs   = 38
	prCapAmbient      = 47
	prCapAmbientClear = 4
)

// Offer is what of the sandbox this kernel can do. What it cannot is said, never silently left out.
type Offer struct {
	// LandlockABI is 0 where there is none: then the filter of system calls refuses every change of a file tree.
	LandlockABI int  `json:"landlockAbi"`
	Seccomp     bool `json:"seccomp"`
	NoNewPrivs  bool `json:"noNewPrivs"`
}

// Look asks the kernel, without restricting anybody.
func Look() Offer {
	_, err := os.Stat("/proc/sys/kernel/seccomp/actions_avail")
	return Offer{LandlockABI: LandlockABI(), Seccomp: err == nil, NoNewPrivs: true}
}

// Needs is what one stage keeps.
type Needs struct {
	// Executables are the only files that may be executed: the program, its interpreter, and what it must start.
	Executables []string `json:"executables"`
	// Network: may connect by TCP, and to abstract sockets.
	Network bool `json:"network"`
	// WritesNull: opens /dev/null for writing. Counts only where there is no Landlock.
	WritesNull bool `json:"writesNull"`
	// CPUSeconds, RLIMIT_CPU.
	CPUSeconds uint64 `json:"cpuSeconds"`
	// MemoryBytes, RLIMIT_DATA: what it allocates.
	MemoryBytes uint64 `json:"memoryBytes"`
}

// Confine restricts the calling thread for good; the thread stays locked, so that the program it then executes inherits
// it all. The order matters: limits and capabilities first, then the two that need no_new_privs.
func Confine(needs Needs) error {
	runtime.LockOSThread()
	if err := prctl("PR_SET_NO_NEW_PRIVS", prSetNoNewPrivs, 1, 0); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := limit(needs); err != nil {
		return err
	}
	offer := Look()
	if offer.LandlockABI > 0 {
		if err := restrictFiles(offer.LandlockABI, needs.Executables, needs.Network); err != nil {
			return err
		}
	}
	if offer.Seccomp {
		return filterCalls(offer.LandlockABI == 0 && !needs.WritesNull)
	}
	return nil
}

// ConfineToReading is for what the gate reads by itself: the calling thread can then change no file. The filter would
// keep the rest of the gate from working, and nothing foreign runs in this thread.
func ConfineToReading() error {
	runtime.LockOSThread()
	if err := prctl("PR_SET_NO_NEW_PRIVS", prSetNoNewPrivs, 1, 0); err != nil {
		return err
	}
	if abi := LandlockABI(); abi > 0 {
		return restrictFiles(abi, nil, false)
	}
	return nil
}

// dropCapabilities empties all sets of this thread, capset(2); an unprivileged account has none to begin with.
func dropCapabilities() error {
	if err := prctl("PR_CAP_AMBIENT", prCapAmbient, prCapAmbientClear, 0); err != nil {
		return err
	}
	return setNoCapabilities()
}

func prctl(name string, option, first, second uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, option, first, second, 0, 0, 0); errno != 0 {
		return fmt.Errorf("prctl(%s): %w", name, errno)
	}
	return nil
}
