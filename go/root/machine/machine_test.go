package machine

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"mayfly/root/unpack"
)

const golden = `Package: systemd
Status: install ok installed
Version: 2
Pre-Depends: libone (>= 1)
Depends: libshared (= 2), mount, missing | dbus | other
Conffiles:
 /etc/systemd/system.conf 0123
Description: it
 is described

Package: libone
Status: install ok installed
Version: 1
Depends: libtwo:any

Package: libtwo
Status: install ok installed
Version: 1

Package: libshared
Status: install ok installed
Source: systemd (2)
Version: 2

Package: libsystemd
Status: install ok installed
Source: systemd
Version: 2

Package: mount
Status: install ok installed
Version: 1
Pre-Depends: util

Package: util
Status: install ok installed
Version: 1

Package: dbus
Status: install ok installed
Version: 1

Package: removed
Status: deinstall ok config-files
Version: 1
`

const theirs = `Package: other
Status: install ok installed
Version: 9

Package: libsystemd
Status: install ok installed
Version: 1

Package: busyutil
Status: install ok installed
Provides: util (= 1)
Version: 1
`

func packagesOf(t *testing.T, status string) packages {
	t.Helper()
	tree := t.TempDir()
	if err := os.MkdirAll(tree+"/var/lib/dpkg", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tree+statusFile, []byte(status), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := readPackages(tree)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMissingPackagesAndTheirOrder(t *testing.T) {
	ours := packagesOf(t, golden)
	if ours.has("removed") {
		t.Error("what was removed is there")
	}
	adding, err := missing(ours, packagesOf(t, theirs))
	if err != nil {
		t.Fatal(err)
	}
	// dbus is an alternative to an installed package; libsystemd has the source of an added package, and is older
	want := [][]string{{"libone", "libshared", "libsystemd", "libtwo", "mount"}, {"systemd"}}
	if batches := inOrder(ours, adding); !reflect.DeepEqual(batches, want) {
		t.Errorf("%v", batches)
	}
}

func TestStanzaWithoutWhatDpkgHasAdded(t *testing.T) {
	said := stanzaOf(packagesOf(t, golden)["systemd"])
	if strings.Contains(said, "Status") || strings.Contains(said, "/etc/systemd") || !strings.HasSuffix(said, "it\n is described\n") {
		t.Error(said)
	}
}

func within(t *testing.T, files map[string]string, work func() error) (string, error) {
	t.Helper()
	tree := t.TempDir() + "/tree"
	root, err := unpack.New(tree)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if err := os.MkdirAll(tree+path[:strings.LastIndex(path, "/")], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tree+path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return tree, root.Within(work)
}

func TestUser(t *testing.T) {
	passwd := "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh"
	tree, err := within(t, map[string]string{"/etc/passwd": passwd, "/etc/group": "a:x:1001:\n", "/home/x": ""}, addUser)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(tree + "/etc/passwd")
	if !strings.HasSuffix(string(text), ":/bin/sh\nsandbox:x:1002:1002::/home/sandbox:/bin/sh\n") {
		t.Error(string(text))
	}
	if _, err := os.Stat(tree + "/etc/shadow"); !os.IsNotExist(err) {
		t.Error("a file of passwords was begun")
	}
	if _, err := within(t, map[string]string{"/etc/group": "sandbox:x:7:\n"}, addUser); err == nil {
		t.Error("a group of that name, without a user, was taken")
	}
}

func TestFoldersThatAreLinks(t *testing.T) {
	_, err := within(t, nil, func() error {
		if err := os.Symlink("/elsewhere", "/var"); err != nil {
			return err
		}
		return makeFolders()
	})
	if err == nil || !strings.Contains(err.Error(), "/var is no folder") {
		t.Error(err)
	}
}
