package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"mayfly/root/unpack"
)

// seedReader exists in a golden image of Debian, but not in a simulated sandbox.
const seedReader = "/usr/local/sbin/mayfly-seed"

// own are files of Mayfly outside packages: those of the sandbox's image, and those of the running machine, which
// takes a snapshot after the root is replaced. Clones of that snapshot get a new identity.
var own = []string{
	"/etc/hostname", "/etc/hosts", "/etc/machine-id", "/etc/resolv.conf", "/etc/fstab",
	"/etc/ssh/mayfly_principals", "/etc/ssh/mayfly_revoked_keys", "/etc/ssh/mayfly_user_ca.pub",
	"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/ssh/sshd_config",
	"/etc/sudoers.d/sandbox", "/etc/systemd/journald.conf.d/mayfly.conf", "/etc/systemd/network/10-virtio.network",
	"/etc/systemd/system", "/etc/systemd/system-generators", "/etc/tmpfiles.d", "/opt/mayfly",
	seedReader, "/usr/local/sbin/mayfly-resolv",
}

// Complete adds what Mayfly's machines need to a tree, and logs it.
func Complete(root *unpack.Root, tree string, say func(string, ...any)) error {
	isMachine := exists(seedReader)
	if err := root.Within(makeFolders); err != nil {
		return err
	}
	if err := putOwn(root, isMachine); err != nil {
		return err
	}
	if isMachine {
		if err := putPackages(tree, say); err != nil {
			return err
		}
		// The configuration of a package may have changed these files.
		if err := putOwn(root, isMachine); err != nil {
			return err
		}
	}
	return root.Within(func() error {
		if names := lacking(isMachine); len(names) > 0 {
			return fmt.Errorf("this root file system is refused: it lacks %s", strings.Join(names, ", "))
		}
		return addUser()
	})
}

var needed = strings.Fields("dev etc etc/ssh home mnt opt proc root run srv sys usr var var/lib var/log")

// makeFolders creates the mount points and folders that a machine writes to. A link there would lead elsewhere at
// the next boot.
func makeFolders() error {
	for _, name := range needed {
		at := "/" + name
		info, err := os.Lstat(at)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("this root file system is refused: %s is no folder", at)
		}
		if errors.Is(err, os.ErrNotExist) {
			err = os.Mkdir(at, 0o755)
		}
		if err != nil {
			return err
		}
	}
	for _, at := range []string{"/tmp", "/var/tmp"} {
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := syscall.Chmod(at, 0o1777); err != nil {
			return err
		}
	}
	return nil
}

// putOwn packs with the sandbox's tar(1), and unpacks inside the tree, so that links cannot redirect writes.
func putOwn(root *unpack.Root, isMachine bool) error {
	paths := own
	if isMachine {
		modules, err := modulesFolder()
		if err != nil {
			return err
		}
		paths = append([]string{modules}, paths...)
	}
	argv := []string{"--create", "--file=-", "--numeric-owner", "--directory=/", "--"}
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			argv = append(argv, path[1:])
		}
	}
	pack := exec.Command("tar", argv...)
	pack.Stderr = os.Stderr
	packed, err := pack.StdoutPipe()
	if err != nil {
		return err
	}
	if err := pack.Start(); err != nil {
		return err
	}
	failure := root.Layer(packed, "")
	if err := pack.Wait(); err != nil && failure == nil {
		failure = fmt.Errorf("tar: %w", err)
	}
	return failure
}

// modulesFolder returns the modules of the running kernel, which the host provides.
func modulesFolder() (string, error) {
	version, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "", err
	}
	return "/usr/lib/modules/" + strings.TrimSpace(string(version)), nil
}
