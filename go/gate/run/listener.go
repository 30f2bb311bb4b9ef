package run

import (
	"os"
	"syscall"
	"unsafe"
)

const (
	pollError  = 0x008 // POLLERR
	pollHangUp = 0x010 // POLLHUP
)

type pollDescriptor struct {
	fd      int32
	events  int16
	revents int16
}

// whenNobodyListens waits until the other end of a pipe or socket is closed, poll(2); for a file it never is.
func whenNobodyListens(out *os.File, then func()) {
	descriptor := pollDescriptor{fd: int32(out.Fd())}
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&descriptor)), 1, 0, 0, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno == 0 && descriptor.revents&(pollError|pollHangUp) != 0 {
			then()
		}
		return
	}
}
