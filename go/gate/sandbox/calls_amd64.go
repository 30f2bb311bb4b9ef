package sandbox

// System calls of x86-64 (asm/unistd_64.h).

const (
	auditArch = 0xc000003e // AUDIT_ARCH_X86_64
	x32Calls  = 0x40000000 // __X32_SYSCALL_BIT: the same calls by other numbers

	sysClone   = 56
	sysClone3  = 435
	sysSocket  = 41
	sysSyslog  = 103
	sysOpenat2 = 437
)

var openCalls = []struct {
	number uint32
	flags  int // the argument that holds the flags
}{
	{2, 1},   // open
	{257, 2}, // openat
}

var deniedCalls = []uint32{
	// Other processes.
	101, // ptrace
	310, // process_vm_readv
	311, // process_vm_writev
	438, // pidfd_getfd
	440, // process_madvise
	62,  // kill
	200, // tkill
	424, // pidfd_send_signal
	// Mounts and namespaces.
	165, // mount
	166, // umount2
	155, // pivot_root
	161, // chroot
	430, // fsopen
	432, // fsmount
	431, // fsconfig
	433, // fspick
	429, // move_mount
	428, // open_tree
	442, // mount_setattr
	272, // unshare
	308, // setns
	// Kernel interfaces that a reading program does not need.
	250, // keyctl
	248, // add_key
	249, // request_key
	321, // bpf
	298, // perf_event_open
	323, // userfaultfd
	425, // io_uring_setup
	426, // io_uring_enter
	427, // io_uring_register
	304, // open_by_handle_at
	300, // fanotify_init
	135, // personality
	319, // memfd_create
	322, // execveat
	// The machine itself.
	169, // reboot
	246, // kexec_load
	320, // kexec_file_load
	175, // init_module
	313, // finit_module
	176, // delete_module
	167, // swapon
	168, // swapoff
	163, // acct
	179, // quotactl
	170, // sethostname
	171, // setdomainname
	164, // settimeofday
	227, // clock_settime
	305, // clock_adjtime
	159, // adjtimex
	153, // vhangup
	172, // iopl
	173, // ioperm
	// Files: calls that Landlock does not cover.
	90,  // chmod
	91,  // fchmod
	268, // fchmodat
	452, // fchmodat2
	92,  // chown
	93,  // fchown
	94,  // lchown
	260, // fchownat
	132, // utime
	235, // utimes
	280, // utimensat
	261, // futimesat
	188, // setxattr
	189, // lsetxattr
	190, // fsetxattr
	463, // setxattrat
	197, // removexattr
	198, // lremovexattr
	199, // fremovexattr
	466, // removexattrat
	469, // file_setattr
	// Files: calls that Landlock covers, if available.
	85,  // creat
	86,  // link
	265, // linkat
	88,  // symlink
	266, // symlinkat
	87,  // unlink
	263, // unlinkat
	82,  // rename
	264, // renameat
	316, // renameat2
	83,  // mkdir
	258, // mkdirat
	84,  // rmdir
	133, // mknod
	259, // mknodat
	76,  // truncate
	77,  // ftruncate
	285, // fallocate
}
