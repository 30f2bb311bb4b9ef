// Package machine turns a tree that was unpacked in a sandbox into a machine of Mayfly, with the sandbox's own
// files.
package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"mayfly/root/unpack"
)

const (
	loader = "/lib64/ld-linux-x86-64.so.2"
	shell  = "/bin/sh"
)

// Refuse returns why a tree cannot be a machine: it has no shell or libc, or they do not run here.
func Refuse(root *unpack.Root, tree string) error {
	if err := root.Within(hasNeither); err != nil {
		return err
	}
	return shellRuns(tree)
}

func hasNeither() error {
	if entries, _ := filepath.Glob("/oci-layout"); len(entries) > 0 && !exists("/bin") {
		return errors.New("it is an OCI layout inside a compressed archive: give it uncompressed")
	}
	if !exists(shell) {
		return fmt.Errorf("it has no shell (%s)", shell)
	}
	if !exists(loader) {
		if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
			return errors.New("its libc is musl; what Mayfly puts into a root needs glibc")
		}
		return fmt.Errorf("it has no libc (%s)", loader)
	}
	return nil
}

// shellRuns runs the shell of a tree.
func shellRuns(tree string) error {
	try := &exec.Cmd{Path: shell, Args: []string{shell, "-c", "exit 0"}, Dir: "/"}
	try.SysProcAttr = &syscall.SysProcAttr{Chroot: tree}
	if said, err := try.CombinedOutput(); err != nil {
		return fmt.Errorf("its %s does not run: %w %s", shell, err, strings.TrimSpace(string(said)))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// programs are required by a build's steps, or a login.
var programs = strings.Fields("chmod chown cut find getent head id mktemp mount readlink sed setpriv tar unshare xargs")

var folders = strings.Fields("/usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin")

// lacking returns the programs that no folder of this process's root directory has.
func lacking(isMachine bool) []string {
	var found []string
	for _, name := range programs {
		isThere := false
		for _, folder := range folders {
			isThere = isThere || exists(folder+"/"+name)
		}
		if !isThere {
			found = append(found, name)
		}
	}
	whole := []string{"/usr/sbin/sshd"}
	if isMachine {
		whole = append(whole, "/sbin/init", "/lib/systemd/systemd-networkd", "/usr/bin/udevadm", "/usr/bin/sudo")
	}
	for _, path := range whole {
		if !exists(path) {
			found = append(found, path)
		}
	}
	return found
}
