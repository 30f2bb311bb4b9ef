package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, content}
}

func link(name, to string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}, ""}
}

func folder(name string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}, ""}
}

func archiveOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, each := range entries {
		if each.Typeflag == tar.TypeReg {
			each.Size = int64(len(each.content))
		}
		if each.ModTime.IsZero() {
			each.ModTime = time.Unix(1_000_000, 0)
		}
		must(t, w.WriteHeader(&each.Header))
		_, err := io.WriteString(w, each.content)
		must(t, err)
	}
	must(t, w.Close())
	return archive.Bytes()
}

func digestOf(archive []byte) string {
	sum := sha256.Sum256(archive)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// treeOf unpacks layers into a new tree, beside a file that must stay unchanged.
func treeOf(t *testing.T, layers ...[]byte) (string, error) {
	t.Helper()
	around := t.TempDir()
	must(t, os.WriteFile(around+"/outside", []byte("outside"), 0o600))
	t.Cleanup(func() {
		if text, _ := os.ReadFile(around + "/outside"); string(text) != "outside" {
			t.Errorf("a file outside of the tree has changed to %q", text)
		}
		if names, _ := os.ReadDir(around); len(names) > 2 {
			t.Errorf("outside of the tree is %v", names)
		}
	})
	root, err := New(around + "/tree")
	must(t, err)
	for _, layer := range layers {
		if err := root.Layer(bytes.NewReader(layer), digestOf(layer)); err != nil {
			return root.folder, err
		}
	}
	return root.folder, nil
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func isGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", path, err)
	}
}

func TestRefused(t *testing.T) {
	device := entry{tar.Header{Name: "srv/disk", Typeflag: tar.TypeBlock, Devmajor: 8}, ""}
	out := entry{tar.Header{Name: "passwd", Typeflag: tar.TypeLink, Linkname: "../outside"}, ""}
	nowhere := entry{tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "etc/none"}, ""}
	huge := entry{tar.Header{Name: "huge", Typeflag: tar.TypeReg, Size: 1 << 60}, ""}
	var bomb bytes.Buffer
	must(t, tar.NewWriter(&bomb).WriteHeader(&huge.Header))
	whole := archiveOf(t, file("a", strings.Repeat("a", 5_000)))
	for name, archive := range map[string][]byte{
		"leads out":    archiveOf(t, file("../outside", "x")),
		"out below":    archiveOf(t, file("a/../../outside", "x")),
		"device":       archiveOf(t, device),
		"hard out":     archiveOf(t, out),
		"hard nowhere": archiveOf(t, nowhere),
		"larger":       bomb.Bytes(),
		"cut off":      whole[:2_000],
		"below a file": archiveOf(t, file("a", "x"), file("a/b", "y")),
		"root a link":  archiveOf(t, link("./", "/etc")),
		"no archive":   bytes.Repeat([]byte("no archive "), 1_000),
		"zstd":         {0x28, 0xb5, 0x2f, 0xfd, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := treeOf(t, archive); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func TestAnotherDigest(t *testing.T) {
	root, err := New(t.TempDir() + "/tree")
	must(t, err)
	err = root.Layer(bytes.NewReader(archiveOf(t, file("a", "x"))), "sha256:"+strings.Repeat("0", 64))
	if err == nil || !strings.Contains(err.Error(), "layer 1 is sha256:") {
		t.Error(err)
	}
}

func TestTooManyEntries(t *testing.T) {
	root, err := New(t.TempDir() + "/tree")
	must(t, err)
	root.entries = mostEntries - 1
	if err := root.Layer(bytes.NewReader(archiveOf(t, file("a", ""), file("b", ""))), ""); err == nil {
		t.Error("it was taken")
	}
}

// The next layer follows links of a layer, absolute or upwards, only within the tree.
func TestWritesThroughLinks(t *testing.T) {
	first := archiveOf(t, folder("there"), folder("was"), file("was/old", "old"), link("up", "../../../.."), link("abs", "/there"))
	second := archiveOf(t, link("was", "/there"), file("was/new", "new"), file("up/outside", "x"), file("abs/also", "y"))
	tree, err := treeOf(t, first, second)
	must(t, err)
	for path, content := range map[string]string{"there/new": "new", "outside": "x", "there/also": "y"} {
		if said := contentOf(t, filepath.Join(tree, path)); said != content {
			t.Errorf("%s has %q", path, said)
		}
	}
}

func TestAbsoluteNamesAndLinksThatAreReplaced(t *testing.T) {
	tree, err := treeOf(t, archiveOf(t, link("a", "/b"), file("b", "b"), file("/a", "now a file"), file("a", "twice")))
	must(t, err)
	if a, b := contentOf(t, tree+"/a"), contentOf(t, tree+"/b"); a != "twice" || b != "b" {
		t.Errorf("a has %q, b %q", a, b)
	}
}

func TestWhiteouts(t *testing.T) {
	first := archiveOf(t, folder("d"), file("d/one", "1"), file("d/two", "2"), folder("o"), file("o/old", "old"), folder("o/sub"),
		file("o/sub/old", "old"), file(".wh.first", "no layer is before"), file("kept", "kept"))
	second := archiveOf(t, file("d/.wh.one", ""), file("o/new", "new"), file("o/sub/new", "new"), file("o/.wh..wh..opq", ""),
		file("mine", "mine"), file(".wh.mine", ""), file("o/.wh..wh.plnk", ""), file(".wh.none", ""))
	tree, err := treeOf(t, first, second)
	must(t, err)
	for _, path := range []string{"d/one", "o/old", "o/sub/old", ".wh.first", "o/.wh..wh.plnk", "o/.wh..wh..opq"} {
		isGone(t, filepath.Join(tree, path))
	}
	for _, path := range []string{"d/two", "o/new", "o/sub/new", "mine", "kept"} {
		contentOf(t, filepath.Join(tree, path))
	}
	for _, name := range []string{".wh..", ".wh...", ".wh."} {
		if _, err := treeOf(t, first, archiveOf(t, file("d/"+name, ""))); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	// Outside of images whiteout names are ordinary names.
	root, err := New(t.TempDir() + "/plain")
	must(t, err)
	must(t, root.Layer(bytes.NewReader(archiveOf(t, file(".wh.name", "x"))), ""))
	contentOf(t, root.folder+"/.wh.name")
}

func TestRightsTimesNamesAndHardLinks(t *testing.T) {
	long := strings.Repeat("a name that is long ", 12)
	program := file("su", "program")
	program.Mode, program.Uid, program.Gid = 0o6755, 1234, 4321
	program.PAXRecords = map[string]string{xattr + "user.note": "kept", xattr + "trusted.other": "left out"}
	gnu := file(long+"/"+long, "long")
	gnu.Format = tar.FormatGNU
	sticky := folder("tmp")
	sticky.Mode = 0o1777
	tree, err := treeOf(t, archiveOf(t, sticky, program, gnu, file("pax "+long+"ü", "pax"), file("tmp/in", ""),
		entry{tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "/su"}, ""},
		entry{tar.Header{Name: "fifo", Typeflag: tar.TypeFifo, Mode: 0o600}, ""},
		entry{tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8}, ""}, file("proc/1", "x"), folder("dev")))
	must(t, err)
	var stat, other syscall.Stat_t
	must(t, syscall.Stat(tree+"/su", &stat))
	must(t, syscall.Stat(tree+"/hard", &other))
	if stat.Mode&0o7777 != 0o6755 || stat.Uid != 1234 || stat.Gid != 4321 || stat.Mtim.Sec != 1_000_000 || stat.Ino != other.Ino {
		t.Errorf("su is %o of %d:%d, of %d", stat.Mode, stat.Uid, stat.Gid, stat.Mtim.Sec)
	}
	must(t, syscall.Stat(tree+"/tmp", &stat))
	if stat.Mode&0o7777 != 0o1777 || stat.Mtim.Sec != 1_000_000 {
		t.Errorf("tmp is %o, of %d", stat.Mode, stat.Mtim.Sec)
	}
	if contentOf(t, tree+"/"+long+"/"+long) != "long" || contentOf(t, tree+"/pax "+long+"ü") != "pax" {
		t.Error("a long name has something else")
	}
	isGone(t, tree+"/dev/sda")
	isGone(t, tree+"/proc/1")
}

// A file of zeros takes almost no space in the gzipped archive, and none on the disk.
func TestHoles(t *testing.T) {
	const size = 256 << 20
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	must(t, archive.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: size + 3, Mode: 0o600}))
	piece := make([]byte, 1<<20)
	for n := 0; n < size; n += len(piece) {
		_, err := archive.Write(piece)
		must(t, err)
	}
	_, err := archive.Write([]byte("end"))
	must(t, err)
	must(t, archive.Close())
	must(t, zipped.Close())
	root, err := New(t.TempDir() + "/tree")
	must(t, err)
	must(t, root.Layer(&packed, ""))
	var stat syscall.Stat_t
	must(t, syscall.Stat(root.folder+"/zeros", &stat))
	if stat.Size != size+3 || stat.Blocks > 1_024 {
		t.Errorf("it has %d bytes in %d blocks", stat.Size, stat.Blocks)
	}
}
