package sandbox

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Landlock, landlock(7): an unprivileged process drops rights for itself and its descendants. "Handled" rights are
// denied unless a rule allows them. The numbers are those of include/uapi/linux/landlock.h; the three system calls
// have the same numbers on every architecture.
const (
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446

	landlockCreateRulesetVersion = 1
	landlockRulePathBeneath      = 1

	accessExecute   = 1 << 0
	accessWriteFile = 1 << 1
	accessTruncate  = 1 << 14 // ABI 3

	// WRITE_FILE, REMOVE_DIR, REMOVE_FILE, and all eight MAKE_*: all rights of ABI 1 but EXECUTE, READ_FILE,
	// READ_DIR.
	accessChanges = accessWriteFile | 0x1ff0
	accessRefer   = 1 << 13 // ABI 2: rename and link between directories
	accessIoctl   = 1 << 15 // ABI 5: ioctl of devices

	accessNetBind    = 1 << 0 // ABI 4, TCP
	accessNetConnect = 1 << 1

	scopeAbstractUnix = 1 << 0 // ABI 6: sockets and signals only within the sandbox
	scopeSignal       = 1 << 1

	oPath = 0x200000 // O_PATH, which package syscall does not have
)

type rulesetAttr struct {
	handledFS  uint64
	handledNet uint64
	scoped     uint64
}

// LandlockABI returns the kernel's ABI version; 0 without Landlock.
func LandlockABI() int {
	version, _, errno := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, landlockCreateRulesetVersion)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// attrOf returns all rights that this ABI can handle, and the structure's size in that ABI.
func attrOf(abi int, network bool) (attr rulesetAttr, size uintptr) {
	attr.handledFS = accessExecute | accessChanges
	size = 8
	if abi >= 2 {
		attr.handledFS |= accessRefer
	}
	if abi >= 3 {
		attr.handledFS |= accessTruncate
	}
	if abi >= 4 {
		size = 16
		attr.handledNet = accessNetBind
		if !network {
			attr.handledNet |= accessNetConnect
		}
	}
	if abi >= 5 {
		attr.handledFS |= accessIoctl
	}
	if abi >= 6 {
		size = 24
		attr.scoped = scopeSignal
		if !network {
			attr.scoped |= scopeAbstractUnix
		}
	}
	return attr, size
}

// restrictFiles limits the calling thread, and the program that it executes: it can write only /dev/null, and
// execute only `executables`. Reads stay subject to the account's permissions.
func restrictFiles(abi int, executables []string, network bool) error {
	attr, size := attrOf(abi, network)
	ruleset, _, errno := syscall.Syscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer syscall.Close(int(ruleset))
	null := attr.handledFS & (accessWriteFile | accessTruncate)
	if err := allowBeneath(ruleset, "/dev/null", null); err != nil {
		return err
	}
	for _, path := range executables {
		if err := allowBeneath(ruleset, path, accessExecute); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if _, _, errno := syscall.Syscall(sysLandlockRestrictSelf, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

func allowBeneath(ruleset uintptr, path string, access uint64) error {
	parent, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(parent)
	// struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of descriptor.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = access
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(parent)
	_, _, errno := syscall.Syscall6(sysLandlockAddRule, ruleset, landlockRulePathBeneath,
		uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule for %s: %w", path, errno)
	}
	return nil
}
