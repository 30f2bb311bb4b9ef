package main

import (
	"os"
	"strings"
	"testing"

	"mayfly/diff/fault"
)

// The changes, extracted over the earlier state, yield the later state, except for removals.
func TestTarOfTheChanges(t *testing.T) {
	folder := sampleFolder(t)
	if err := os.Link(folder+"/large", folder+"/etc/large-too"); err != nil {
		t.Fatal(err)
	}
	write(t, folder+"/odd\n\x1b[31m\xff", "odd")
	if err := os.Chmod(folder+"/small", 0o750|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	image := newImage(t, 32*mebibyte, folder, "-t", "ext4")
	debugfs(t, image, "ea_set /small user.note hello")
	empty := newImage(t, 32*mebibyte, "", "-t", "ext4")
	archive, err := ask(request{Mode: "tar", Before: layersOf(t, empty), After: layersOf(t, image)})
	if err != nil {
		t.Fatal(err)
	}
	path, out := write(t, t.TempDir()+"/changes.tar", string(archive)), t.TempDir()
	tool(t, "", "tar", "-x", "--preserve-permissions", "--numeric-owner", "-f", path, "-C", out)
	tool(t, "", "diff", "-r", "--no-dereference", folder, out)
	if listing := tool(t, "", "tar", "-t", "-v", "--xattrs", "--xattrs-include=*", "-v", "-f", path); !strings.Contains(listing, "user.note") {
		t.Error("there is no extended attribute in the archive")
	}
	small, err := os.Stat(out + "/small")
	if err != nil || small.Mode() != os.ModeSetuid|0o750 || small.ModTime().Unix() != 1_500_000_000 {
		t.Errorf("%v, %v", small, err)
	}
	one, errOne := os.Stat(out + "/large")
	two, errTwo := os.Stat(out + "/etc/large-too")
	if errOne != nil || errTwo != nil || !os.SameFile(one, two) {
		t.Errorf("two names of one file are two files: %v, %v", errOne, errTwo)
	}
}

func TestTarOfARenamedDirectory(t *testing.T) {
	before := renamable(t)
	after := copyOf(t, before)
	debugfs(t, after, "ln /a /z", "unlink /a", "sif /z/two mode 0100600", "rm /five")
	archive, err := ask(request{Mode: "tar", Before: layersOf(t, before), After: layersOf(t, after)})
	if err != nil {
		t.Fatal(err)
	}
	listing := tool(t, "", "tar", "-t", "-f", write(t, t.TempDir()+"/changes.tar", string(archive)))
	if listing != "./.wh.five\n./.wh.a\n./z/\n./z/deep/\n./z/deep/three\n./z/one\n./z/two\n" {
		t.Error(listing)
	}
}

func TestTarOfAHugeSparseFile(t *testing.T) {
	before := newImage(t, 32*mebibyte, sampleFolder(t), "-t", "ext4")
	after := copyOf(t, before)
	debugfs(t, after, "sif /etc/empty size 0x100000000000")
	archive, err := ask(request{Mode: "tar", Before: layersOf(t, before), After: layersOf(t, after)})
	if found, is := err.(*fault.Fault); !is || found.Code != fault.Limit || len(archive) > mebibyte {
		t.Errorf("%v, after %d bytes", err, len(archive))
	}
}

// An archive marks removals by names that a guest must not be able to forge.
func TestTarOfARemoval(t *testing.T) {
	before := renamable(t)
	after := copyOf(t, before)
	debugfs(t, after, "ln /a/deep /d", "unlink /a/deep", "rm /a/one", "rm /a/two", "rmdir /a", "rm /b/four", "rm /five", "mkdir /five")
	archive, err := ask(request{Mode: "tar", Before: layersOf(t, before), After: layersOf(t, after)})
	if err != nil {
		t.Fatal(err)
	}
	listing := tool(t, "", "tar", "-t", "-f", write(t, t.TempDir()+"/changes.tar", string(archive)))
	if listing != "./.wh.a\n./b/.wh.four\n./d/\n./d/three\n./.wh.five\n./five/\n" {
		t.Error(listing)
	}
	debugfs(t, after, "mkdir /b/.wh.six")
	_, err = ask(request{Mode: "tar", Before: layersOf(t, before), After: layersOf(t, after)})
	if found, is := err.(*fault.Fault); !is || found.Code != fault.Unsupported {
		t.Error(err)
	}
}
