package confine

import "syscall"

const (
	auditArch  = 0xc000003e // AUDIT_ARCH_X86_64
	sysSeccomp = 317
)

// The x32 call numbers, with __X32_SYSCALL_BIT, are excluded.
var allowedCalls = []uint32{
	syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_PREAD64, syscall.SYS_LSEEK, syscall.SYS_FSTAT, syscall.SYS_CLOSE,
	syscall.SYS_MUNMAP, syscall.SYS_MADVISE, syscall.SYS_FUTEX, syscall.SYS_SCHED_YIELD, syscall.SYS_NANOSLEEP,
	syscall.SYS_CLOCK_GETTIME, syscall.SYS_GETTIMEOFDAY, syscall.SYS_GETPID, syscall.SYS_GETTID, syscall.SYS_EXIT,
	syscall.SYS_EXIT_GROUP, syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN,
	syscall.SYS_SIGALTSTACK, syscall.SYS_RESTART_SYSCALL, syscall.SYS_EPOLL_CTL, syscall.SYS_EPOLL_CREATE1,
	syscall.SYS_EPOLL_PWAIT, syscall.SYS_EVENTFD2, syscall.SYS_TIMER_SETTIME, syscall.SYS_TIMER_DELETE,
	sysGetrandom,
}

const sysGetrandom = 318
