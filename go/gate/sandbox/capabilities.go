package sandbox

import (
	"fmt"
	"syscall"
	"unsafe"
)

const capabilityVersion3 = 0x20080522

// Structures of capset(2), _LINUX_CAPABILITY_VERSION_3: two halves of effective, permitted and inheritable.
type capabilityHeader struct {
	version uint32
	pid     int32
}

type capabilityData [2]struct{ effective, permitted, inheritable uint32 }

func setNoCapabilities() error {
	header := capabilityHeader{version: capabilityVersion3}
	var none capabilityData
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0)
	if errno != 0 {
		return fmt.Errorf("capset: %w", errno)
	}
	return nil
}
