package sandbox

// System calls of AArch64 (asm-generic/unistd.h).

const (
	auditArch = 0xc00000b7 // AUDIT_ARCH_AARCH64
	x32Calls  = 0          // there is no second set

	sysClone   = 220
	sysClone3  = 435
	sysSocket  = 198
	sysSyslog  = 116
	sysOpenat2 = 437
)

var openCalls = []struct {
	number uint32
	flags  int // the argument that holds the flags
}{
	{56, 2}, // openat
}

var deniedCalls = []uint32{
	// Other processes.
	117, // ptrace
	270, // process_vm_readv
	271, // process_vm_writev
	438, // pidfd_getfd
	440, // process_madvise
	129, // kill
	130, // tkill
	424, // pidfd_send_signal
	// Mounts and namespaces.
	40,  // mount
	39,  // umount2
	41,  // pivot_root
	51,  // chroot
	430, // fsopen
	432, // fsmount
	431, // fsconfig
	433, // fspick
	429, // move_mount
	428, // open_tree
	442, // mount_setattr
	97,  // unshare
	268, // setns
	// Kernel interfaces that a reading program does not need.
	219, // keyctl
	217, // add_key
	218, // request_key
	280, // bpf
	241, // perf_event_open
	282, // userfaultfd
	425, // io_uring_setup
	426, // io_uring_enter
	427, // io_uring_register
	265, // open_by_handle_at
	262, // fanotify_init
	92,  // personality
	279, // memfd_create
	281, // execveat
	// The machine itself.
	142, // reboot
	104, // kexec_load
	294, // kexec_file_load
	105, // init_module
	273, // finit_module
	106, // delete_module
	224, // swapon
	225, // swapoff
	89,  // acct
	60,  // quotactl
	161, // sethostname
	162, // setdomainname
	170, // settimeofday
	112, // clock_settime
	266, // clock_adjtime
	171, // adjtimex
	58,  // vhangup
	// Files: calls that Landlock does not cover.
	52,  // fchmod
	53,  // fchmodat
	452, // fchmodat2
	55,  // fchown
	54,  // fchownat
	88,  // utimensat
	5,   // setxattr
	6,   // lsetxattr
	7,   // fsetxattr
	463, // setxattrat
	14,  // removexattr
	15,  // lremovexattr
	16,  // fremovexattr
	466, // removexattrat
	469, // file_setattr
	// Files: calls that Landlock covers, if available.
	37,  // linkat
	36,  // symlinkat
	35,  // unlinkat
	38,  // renameat
	276, // renameat2
	34,  // mkdirat
	33,  // mknodat
	45,  // truncate
	46,  // ftruncate
	47,  // fallocate
}
