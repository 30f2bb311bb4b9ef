package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// confined runs a function in a thread that it restricts irrevocably, and that ends with it.
func confined(t *testing.T, restrict func() error, then func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := prctl("PR_SET_NO_NEW_PRIVS", prSetNoNewPrivs, 1, 0); err != nil {
			done <- err
			return
		}
		err := restrict()
		if err == nil {
			then()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// changes tries to change a file and its directory, with raw system calls on this thread.
func changes(path string) map[string]error {
	write, errWrite := syscall.Open(path, syscall.O_WRONLY, 0)
	if errWrite == nil {
		syscall.Close(write)
	}
	created, errCreate := syscall.Open(path+".new", syscall.O_RDONLY|syscall.O_CREAT, 0o600)
	if errCreate == nil {
		syscall.Close(created)
	}
	truncated, errTruncate := syscall.Open(path, syscall.O_RDONLY|syscall.O_TRUNC, 0)
	if errTruncate == nil {
		syscall.Close(truncated)
	}
	return map[string]error{
		"write": errWrite, "create": errCreate, "truncate on open": errTruncate, "truncate": syscall.Truncate(path, 0),
		"mkdir": syscall.Mkdir(path+".d", 0o700), "rename": syscall.Rename(path, path+".r"), "unlink": syscall.Unlink(path),
		"symlink": syscall.Symlink("x", path+".s"), "link": syscall.Link(path, path+".l"), "fifo": syscall.Mknod(path+".f", syscall.S_IFIFO, 0),
	}
}

func file(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilterAloneKeepsFiles(t *testing.T) {
	path := file(t)
	confined(t, func() error { return filterCalls(true) }, func() {
		for what, err := range changes(path) {
			if !errors.Is(err, syscall.EPERM) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for what, err := range map[string]error{
			"chmod": syscall.Chmod(path, 0o777), "utimes": syscall.Utimes(path, make([]syscall.Timeval, 2)),
			"setxattr": syscall.Setxattr(path, "user.x", nil, 0), "chown": syscall.Chown(path, 1, 1),
			"unshare": syscall.Unshare(syscall.CLONE_NEWUTS), "sethostname": syscall.Sethostname([]byte("x")),
			"mount": syscall.Mount("x", path, "tmpfs", 0, ""), "kill": syscall.Kill(os.Getpid(), 0),
		} {
			if !errors.Is(err, syscall.EPERM) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0); !errors.Is(err, syscall.EPERM) {
			t.Errorf("a packet socket: %d, %v", fd, err)
		}
		fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
		if err != nil {
			t.Errorf("reading: %v", err)
		}
		syscall.Close(fd)
	})
}

func TestLandlockAloneKeepsFiles(t *testing.T) {
	abi := LandlockABI()
	if abi == 0 {
		t.Log("this kernel has no Landlock; the filter is what there is")
		return
	}
	path := file(t)
	confined(t, func() error { return restrictFiles(abi, nil, false) }, func() {
		for what, err := range changes(path) {
			if err == nil {
				t.Errorf("%s is possible", what)
			}
		}
		fd, err := syscall.Open("/dev/null", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o666)
		if err != nil {
			t.Errorf("/dev/null: %v", err)
		}
		syscall.Close(fd)
	})
	if content, err := os.ReadFile(path); err != nil || string(content) != "content" {
		t.Errorf("the file has become %q, %v", content, err)
	}
}

func TestExecutables(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh -e\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	chain, err := ExecutablesOf(script)
	shell, _ := filepath.EvalSymlinks("/bin/sh")
	if err != nil || len(chain) < 2 || chain[0] != script || chain[1] != shell {
		t.Errorf("%v, %v", chain, err)
	}
	if _, err := ExecutablesOf(file(t)); err == nil {
		t.Error("a text is executable")
	}
}
