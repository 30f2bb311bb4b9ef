package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const confinedUser = 65_533

// TestMain also runs the confined program of TestConfinement: confinement is irrevocable, so it needs another
// process.
func TestMain(m *testing.M) {
	if os.Getenv("MAYFLY_DIFF_CONFINED") != "1" {
		os.Exit(m.Run())
	}
	if err := Process(confinedUser); err != nil {
		fmt.Println("not confined:", err)
		os.Exit(1)
	}
	for what, err := range attempts() {
		if !errors.Is(err, syscall.EPERM) {
			fmt.Printf("%s: %v\n", what, err)
		}
	}
	done := make(chan []byte) // threads and memory are still to be had
	for range 8 {
		go func() { done <- make([]byte, 1<<20) }()
	}
	for range 8 {
		<-done
	}
	fmt.Println("end")
	os.Exit(0)
}

// attempts are operations that the confinement must refuse.
func attempts() map[string]error {
	_, open := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0)
	_, create := syscall.Open("/tmp/mayfly-diff-was-here", syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	_, socket := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	_, local := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	_, fork := syscall.ForkExec("/bin/true", []string{"true"}, nil)
	_, mapped := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	_, _, limit := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_DATA, 0, 0, 0, 0)
	_, _, signal := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getppid()), uintptr(os.Getppid()), 0)
	return map[string]error{
		"open": open, "create": create, "socket": socket, "local socket": local, "fork": fork, "mmap": mapped,
		"exec": syscall.Exec("/bin/true", []string{"true"}, nil), "kill": syscall.Kill(os.Getppid(), 0),
		"chdir": syscall.Chdir("/"), "ptrace": syscall.PtraceAttach(os.Getppid()), "limits": limit, "tgkill": signal,
		"setuid": func() error { _, _, e := syscall.RawSyscall(syscall.SYS_SETUID, 0, 0, 0); return e }(),
	}
}

func TestConfinement(t *testing.T) {
	command := exec.Command("/proc/self/exe")
	command.Env = []string{"MAYFLY_DIFF_CONFINED=1"}
	output, err := command.CombinedOutput()
	if err != nil || string(output) != "end\n" {
		t.Errorf("%v:\n%s", err, output)
	}
}

func TestRootIsRefused(t *testing.T) {
	if syscall.Geteuid() != 0 {
		t.Log("this test needs root to say no to")
		return
	}
	if err := becomeUser(0); err == nil || !strings.Contains(err.Error(), "root") {
		t.Error(err)
	}
}
