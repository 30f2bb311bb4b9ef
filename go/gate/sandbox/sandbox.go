// Package sandbox drops the rights that a reading process does not need, by the kernel's means for
// unprivileged ones.
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

// Offer is the kernel's support for the sandbox. Missing features are reported.
type Offer struct {
	// LandlockABI is 0 without Landlock: then the seccomp filter refuses every change of a file tree.
	LandlockABI int  `json:"landlockAbi"`
	Seccomp     bool `json:"seccomp"`
	NoNewPrivs  bool `json:"noNewPrivs"`
}

// Look queries the kernel, without a restriction.
func Look() Offer {
	_, err := os.Stat("/proc/sys/kernel/seccomp/actions_avail")
	return Offer{LandlockABI: LandlockABI(), Seccomp: err == nil, NoNewPrivs: true}
}

// Needs are the rights that one stage keeps.
type Needs struct {
	// Executables are the only executable files: the program, its interpreter, and programs that it must start.
	Executables []string `json:"executables"`
	// Network allows TCP connections, and abstract sockets.
	Network bool `json:"network"`
	// WritesNull allows to open /dev/null for writing. It matters only without Landlock.
	WritesNull bool `json:"writesNull"`
	// CPUSeconds is RLIMIT_CPU.
	CPUSeconds uint64 `json:"cpuSeconds"`
	// MemoryBytes is RLIMIT_DATA, the limit of allocations.
	MemoryBytes uint64 `json:"memoryBytes"`
}

// Confine restricts the calling thread irrevocably, and locks it, so that the executed program inherits the
// restrictions. Order matters: limits and capabilities come before the two that need no_new_privs.
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

// ConfineToReading keeps the calling thread from changing files while the gate reads one. It omits the filter,
// which would block the rest of the gate; no foreign code runs in this thread.
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

// dropCapabilities clears all sets of this thread, capset(2); an unprivileged account has none anyway.
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
