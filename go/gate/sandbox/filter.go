package sandbox

import (
	"fmt"
	"syscall"
	"unsafe"
)

// A seccomp filter (seccomp(2)) in classic BPF. It refuses calls that Landlock does not cover, mainly changes of
// mode, owner, times and extended attributes, and on kernels without Landlock every change of a file tree. A
// refused call fails with EPERM, so that a program can report it.
const (
	prSetSeccomp      = 22
	seccompModeFilter = 2

	seccompAllow = 0x7fff0000
	seccompErrno = 0x00050000

	// Offsets in struct seccomp_data: nr, arch, instruction_pointer, args[6]; little-endian, the low half of an
	// argument first.
	dataNr   = 0
	dataArch = 4
	dataArgs = 16

	bpfLoad    = 0x20 // BPF_LD | BPF_W | BPF_ABS
	bpfEqual   = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	bpfAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	bpfAnySet  = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	bpfReturn  = 0x06 // BPF_RET | BPF_K

	writeFlags = syscall.O_WRONLY | syscall.O_RDWR | syscall.O_CREAT | syscall.O_TRUNC
)

type program []syscall.SockFilter

func (p *program) add(code uint16, jumpTrue, jumpFalse uint8, value uint32) {
	*p = append(*p, syscall.SockFilter{Code: code, Jt: jumpTrue, Jf: jumpFalse, K: value})
}

func (p *program) refuse(errno syscall.Errno) { p.add(bpfReturn, 0, 0, seccompErrno|uint32(errno)) }

// deny refuses a system call with any arguments.
func (p *program) deny(number uint32, errno syscall.Errno) {
	p.add(bpfEqual, 0, 1, number)
	p.refuse(errno)
}

// denyFlags refuses a system call if its argument has one of these bits.
func (p *program) denyFlags(number uint32, argument int, bits uint32) {
	p.add(bpfEqual, 0, 4, number)
	p.add(bpfLoad, 0, 0, uint32(dataArgs+8*argument))
	p.add(bpfAnySet, 0, 1, bits)
	p.refuse(syscall.EPERM)
	p.add(bpfLoad, 0, 0, dataNr)
}

// allowOnly refuses a system call unless its argument is one of these values.
func (p *program) allowOnly(number uint32, argument int, values []uint32) {
	p.add(bpfEqual, 0, uint8(len(values)+3), number)
	p.add(bpfLoad, 0, 0, uint32(dataArgs+8*argument))
	for index, value := range values {
		p.add(bpfEqual, uint8(len(values)-index), 0, value)
	}
	p.refuse(syscall.EPERM)
	p.add(bpfLoad, 0, 0, dataNr)
}

// filterOf returns the whole filter. `noWrites` also refuses every open for writing, as a fallback for Landlock.
func filterOf(noWrites bool) program {
	var p program
	p.add(bpfLoad, 0, 0, dataArch)
	p.add(bpfEqual, 1, 0, auditArch)
	p.refuse(syscall.EPERM) // another instruction set of the same machine numbers its calls otherwise
	p.add(bpfLoad, 0, 0, dataNr)
	if x32Calls != 0 {
		p.add(bpfAtLeast, 0, 1, x32Calls)
		p.refuse(syscall.EPERM)
	}
	for _, number := range deniedCalls {
		p.deny(number, syscall.EPERM)
	}
	p.deny(sysClone3, syscall.ENOSYS) // its flags are behind a pointer; the C library falls back to clone
	p.denyFlags(sysClone, 0, syscall.CLONE_NEWNS|syscall.CLONE_NEWUTS|syscall.CLONE_NEWIPC|syscall.CLONE_NEWUSER|
		syscall.CLONE_NEWPID|syscall.CLONE_NEWNET|0x02000000 /* CLONE_NEWCGROUP */)
	p.allowOnly(sysSocket, 0, []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK})
	p.allowOnly(sysSyslog, 0, []uint32{3, 10}) // SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_SIZE_BUFFER
	if noWrites {
		p.deny(sysOpenat2, syscall.ENOSYS)
		for _, call := range openCalls {
			p.denyFlags(call.number, call.flags, uint32(writeFlags))
		}
	}
	p.add(bpfReturn, 0, 0, seccompAllow)
	return p
}

// filterCalls installs the filter for the calling thread; PR_SET_NO_NEW_PRIVS must be set.
func filterCalls(noWrites bool) error {
	filter := filterOf(noWrites)
	prog := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("prctl(PR_SET_SECCOMP): %w", errno)
	}
	return nil
}
