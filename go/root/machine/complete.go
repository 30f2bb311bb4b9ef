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

// seedReader is what a golden image of Debian has of ours, and a simulated sandbox has not.
const seedReader = "/usr/local/sbin/mayfly-seed"

// own are files of a machine of ours that no package has: of the sandbox's image, and of the machine that runs, since it
// is still asked for a snapshot when the root is another one. Who clones that snapshot gets an identity of its own.
var own = []string{
	"/etc/hostname", "/etc/hosts", "/etc/machine-id", "/etc/resolv.conf", "/etc/fstab",
	"/etc/ssh/mayfly_principals", "/etc/ssh/mayfly_revoked_keys", "/etc/ssh/mayfly_user_ca.pub",
	"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/ssh/sshd_config",
	"/etc/sudoers.d/sandbox", "/etc/systemd/journald.conf.d/mayfly.conf", "/etc/systemd/network/10-virtio.network",
	"/etc/systemd/system", "/etc/systemd/system-generators", "/etc/tmpfiles.d", "/opt/mayfly",
	seedReader, "/usr/local/sbin/mayfly-resolv",
}

// Complete puts into a tree what a machine of ours needs, and says so.
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
		// A package that was just configured has its say in these too.
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

// makeFolders makes what a machine mounts something at, or writes to: a link there leads elsewhere at the next boot.
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

// putOwn has tar(1) of the sandbox pack, and unpacks within the tree: no link there leads what is written elsewhere.
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

// modulesFolder is where the modules of the kernel are that the machine is given by its host.
func modulesFolder() (string, error) {
	version, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "", err
	}
	return "/usr/lib/modules/" + strings.TrimSpace(string(version)), nil
}
