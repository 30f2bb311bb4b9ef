package confine

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// A seccomp filter (seccomp(2)) in classic BPF that allows the calls of the Go runtime and reads, but none that
// name a file, a socket, a program or another process. Refused calls fail with EPERM.
const (
	seccompSetModeFilter = 1
	// All threads: the Go runtime has several before main begins.
	seccompFlagTsync = 1

	seccompAllow = 0x7fff0000
	seccompErrno = 0x00050000

	// Offsets in struct seccomp_data: nr, arch, instruction_pointer, args[6]; little-endian, the low half of an
	// argument first.
	dataNr   = 0
	dataArch = 4
	dataArgs = 16

	bpfLoad   = 0x20 // BPF_LD | BPF_W | BPF_ABS
	bpfEqual  = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	bpfAnySet = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	bpfReturn = 0x06 // BPF_RET | BPF_K

	protExec = 4
)

type program []syscall.SockFilter

func (p *program) add(code uint16, jumpTrue, jumpFalse uint8, value uint32) {
	*p = append(*p, syscall.SockFilter{Code: code, Jt: jumpTrue, Jf: jumpFalse, K: value})
}

func (p *program) refuse() { p.add(bpfReturn, 0, 0, seccompErrno|uint32(syscall.EPERM)) }

func (p *program) allow(number uint32) {
	p.add(bpfEqual, 0, 1, number)
	p.add(bpfReturn, 0, 0, seccompAllow)
}

// check decides a call by one of its arguments: a jump with the result allowIfTrue allows it.
func (p *program) check(number uint32, argument int, code uint16, allowIfTrue bool, value uint32) {
	p.add(bpfEqual, 0, 4, number)
	p.add(bpfLoad, 0, 0, uint32(dataArgs+8*argument))
	if allowIfTrue {
		p.add(code, 0, 1, value)
	} else {
		p.add(code, 1, 0, value)
	}
	p.add(bpfReturn, 0, 0, seccompAllow)
	p.refuse()
}

func filterOf(pid int) program {
	var p program
	p.add(bpfLoad, 0, 0, dataArch)
	p.add(bpfEqual, 1, 0, auditArch)
	p.refuse()
	p.add(bpfLoad, 0, 0, dataNr)
	for _, number := range allowedCalls {
		p.allow(number)
	}
	// Threads but no processes; no executable memory; signals only to itself.
	p.check(syscall.SYS_CLONE, 0, bpfAnySet, true, syscall.CLONE_THREAD)
	p.check(syscall.SYS_MMAP, 2, bpfAnySet, false, protExec)
	p.check(syscall.SYS_MPROTECT, 2, bpfAnySet, false, protExec)
	p.check(syscall.SYS_TGKILL, 0, bpfEqual, true, uint32(pid))
	p.refuse()
	return p
}

func filterCalls() error {
	filter := filterOf(os.Getpid())
	prog := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	failed, _, errno := syscall.Syscall(sysSeccomp, seccompSetModeFilter, seccompFlagTsync, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if failed != 0 {
		return fmt.Errorf("seccomp: thread %d could not be confined", failed)
	}
	return nil
}
