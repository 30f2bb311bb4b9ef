package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sort"
	"strings"
	"syscall"
)

// wanted are the packages of a Debian that make it a machine of Mayfly, as in images/packages.
var wanted = strings.Fields("systemd systemd-sysv udev kmod iproute2 procps openssh-server qemu-guest-agent sudo util-linux mount")

// putPackages installs missing packages from the sandbox in a tree. The tree's own dpkg does it, which keeps its
// database consistent, and refuses conflicts.
func putPackages(tree string, say func(string, ...any)) error {
	ours, err := readPackages("")
	if err != nil {
		return err
	}
	theirs, err := readPackages(tree)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("this root file system is refused: it has no dpkg, so it can be given nothing that it lacks; " +
			"roots of Debian 12 and of what is made of it are taken")
	}
	if err != nil {
		return err
	}
	adding, err := missing(ours, theirs)
	if err != nil || len(adding) == 0 {
		return err
	}
	debs := tree + "/var/tmp/mayfly-root"
	if err := os.RemoveAll(debs); err != nil {
		return err
	}
	if err := os.Mkdir(debs, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(debs)
	for _, batch := range inOrder(ours, adding) {
		var names []string
		for _, name := range batch {
			if err := repack(ours[name], debs); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			names = append(names, name)
		}
		say("installing %s", strings.Join(names, " "))
		if err := install(tree, names); err != nil {
			return fmt.Errorf("this root file system is refused: packages that a machine needs do not fit it (%w), as dpkg says "+
				"above; they are of the source that the machine is made of, and an alias can name one of the root's own release", err)
		}
	}
	return nil
}

// missing returns the wanted packages and their dependencies that the tree lacks, and older installed packages of
// the same sources.
func missing(ours, theirs packages) (map[string]bool, error) {
	adding := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if adding[name] || theirs.has(name) {
			return
		}
		found, isOurs := ours.providing(name)
		if !isOurs || adding[found.name()] {
			return // dpkg says so, where nothing else does for it
		}
		adding[found.name()] = true
		for _, group := range append(found.needs("Pre-Depends"), found.needs("Depends")...) {
			addOne(group, ours, theirs, add)
		}
	}
	for _, name := range wanted {
		add(name)
	}
	sources := map[string]bool{}
	for name := range adding {
		sources[ours[name].source()] = true
	}
	for name, own := range ours {
		their, isThere := theirs[name]
		if !isThere || !sources[own.source()] {
			continue
		}
		err := exec.Command("dpkg", "--compare-versions", their.fields["Version"], "lt", own.fields["Version"]).Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return nil, err
		}
		if err == nil {
			adding[name] = true
		}
	}
	return adding, nil
}

func addOne(group []string, ours, theirs packages, add func(string)) {
	for _, name := range group {
		if theirs.has(name) {
			return
		}
	}
	for _, name := range group {
		if ours.has(name) {
			add(name)
			return
		}
	}
}

// inOrder returns the batches of an installation. Pre-Depends must be configured before other packages are
// unpacked, so they are in an earlier batch, with their dependencies.
func inOrder(ours packages, adding map[string]bool) [][]string {
	left := map[string]bool{}
	for name := range adding {
		left[name] = true
	}
	var batches [][]string
	for len(left) > 0 {
		var batch []string
		for name := range left {
			if !mustWait(ours, left, name, map[string]bool{}) {
				batch = append(batch, name)
			}
		}
		if len(batch) == 0 {
			for name := range left {
				batch = append(batch, name) // a circle: dpkg says what it is
			}
		}
		sort.Strings(batch)
		for _, name := range batch {
			delete(left, name)
		}
		batches = append(batches, batch)
	}
	return batches
}

// mustWait reports whether a package, or a dependency of it, has Pre-Depends that are left.
func mustWait(ours packages, left map[string]bool, name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	for _, each := range anyOf(ours[name].needs("Pre-Depends")) {
		if left[each] {
			return true
		}
	}
	for _, each := range anyOf(ours[name].needs("Depends")) {
		if left[each] && mustWait(ours, left, each, seen) {
			return true
		}
	}
	return false
}

func anyOf(groups [][]string) []string {
	var names []string
	for _, group := range groups {
		names = append(names, group...)
	}
	return names
}

// install runs the tree's dpkg, without service starts or prompts.
func install(tree string, names []string) error {
	mounts := []struct{ from, kind, at string }{{"proc", "proc", "/proc"}, {"/dev", "", "/dev"}}
	for _, each := range mounts {
		flags := uintptr(0)
		if each.kind == "" {
			flags = syscall.MS_BIND
		}
		if err := syscall.Mount(each.from, tree+each.at, each.kind, flags, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", each.at, err)
		}
		defer func() { _ = syscall.Unmount(tree+each.at, syscall.MNT_DETACH) }()
	}
	const quiet = `set -e
if [ -e /usr/sbin/policy-rc.d ]; then mv /usr/sbin/policy-rc.d /var/tmp/mayfly-root/policy-rc.d; fi
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 0755 /usr/sbin/policy-rc.d
code=0
dpkg --force-unsafe-io --force-confold --install "$@" </dev/null || code=$?
rm /usr/sbin/policy-rc.d
if [ -e /var/tmp/mayfly-root/policy-rc.d ]; then mv /var/tmp/mayfly-root/policy-rc.d /usr/sbin/policy-rc.d; fi
exit $code`
	argv := []string{shell, "-c", quiet, "sh"}
	for _, name := range names {
		argv = append(argv, "/var/tmp/mayfly-root/"+name+".deb")
	}
	run := &exec.Cmd{Path: shell, Args: argv, Dir: "/", Stdout: os.Stdout, Stderr: os.Stderr}
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: tree}
	run.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/root",
		"DEBIAN_FRONTEND=noninteractive", "UCF_FORCE_CONFFOLD=1",
	}
	return run.Run()
}
