package files

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// contentsOf describes everything below a folder: type, rights, time and content.
func contentsOf(t *testing.T, folder string) []string {
	t.Helper()
	var lines []string
	must(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			bytes, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(bytes)
		} else if info.Mode()&os.ModeSymlink != 0 {
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		mtime := info.ModTime().Unix()
		if info.Mode()&os.ModeSymlink != 0 {
			mtime = 0
		}
		lines = append(lines, fmt.Sprintf("%q %s %s %d %q", path[len(folder):], typeOf(info.Mode()), rightsAt(t, path), mtime, content))
		return nil
	}))
	return lines
}

// fillTree creates a tree with every type of entry.
func (x *fixture) fillTree(name string) string {
	x.t.Helper()
	must(x.t, os.MkdirAll(x.path(name+"/sub/deeper"), 0o755))
	for _, child := range hostileNames {
		x.write(name+"/sub/"+child, "of "+child, 0o640)
	}
	x.write(name+"/sub/deeper/setuid", strings.Repeat("x", 3*blockBytes+7), 0o755|os.ModeSetuid)
	must(x.t, os.Chown(x.path(name+"/sub/deeper"), 12, 34))
	must(x.t, os.Symlink("sub/\xff", x.path(name+"/link")))
	must(x.t, os.Symlink("/etc/\nabsolute", x.path(name+"/sub/absolute")))
	must(x.t, os.Link(x.path(name+"/sub/\xff\xfe"), x.path(name+"/hard")))
	old := time.Unix(1_000_000_000, 0)
	must(x.t, os.Chtimes(x.path(name+"/sub/-rf"), old, old))
	must(x.t, os.Chtimes(x.path(name+"/sub/deeper"), old, old))
	return x.path(name)
}

func TestADirectoryGoesOutAndInAsItWas(t *testing.T) {
	x := newFixture(t)
	source := x.fillTree("source")
	archive := x.expect(x.ask("GET", "/v1/tar", source, "", nil), 200)
	must(t, os.Mkdir(x.path("copy"), 0o755))
	x.expect(x.ask("PUT", "/v1/tar", x.path("copy"), "&keepOwners=true", strings.NewReader(archive)), 200)
	if got, want := contentsOf(t, x.path("copy")), contentsOf(t, source); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	first, err := os.Stat(x.path("copy/hard"))
	must(t, err)
	if statOf(first).Nlink != 2 {
		t.Error("the hard link became a copy")
	}
	// A second extraction over the existing files.
	x.expect(x.ask("PUT", "/v1/tar", x.path("copy"), "&keepOwners=true", strings.NewReader(archive)), 200)
	if got, want := contentsOf(t, x.path("copy")), contentsOf(t, source); !slices.Equal(got, want) {
		t.Error("the second time differs")
	}
	x.nothingLeft()
}

func TestTheSystemsTarUnderstandsUsAndWeUnderstandIt(t *testing.T) {
	x := newFixture(t)
	source := x.fillTree("source")
	want := contentsOf(t, source)
	must(t, os.Mkdir(x.path("theirs"), 0o755))
	extract := exec.Command("tar", "-x", "-p", "--numeric-owner", "-f", "-", "-C", x.path("theirs"))
	extract.Stdin = strings.NewReader(x.expect(x.ask("GET", "/v1/tar", source, "", nil), 200))
	if out, err := extract.CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	if got := contentsOf(t, x.path("theirs")); !slices.Equal(got, want) {
		t.Errorf("tar made\n%s", strings.Join(got, "\n"))
	}
	for _, format := range []string{"gnu", "pax"} {
		archive, err := exec.Command("tar", "-c", "--format="+format, "-f", "-", "-C", source, ".").Output()
		must(t, err)
		must(t, os.Mkdir(x.path(format), 0o755))
		x.expect(x.ask("PUT", "/v1/tar", x.path(format), "&keepOwners=true", bytes.NewReader(archive)), 200)
		if got := contentsOf(t, x.path(format)); !slices.Equal(got, want) {
			t.Errorf("of %s we made\n%s", format, strings.Join(got, "\n"))
		}
	}
}

func TestWhatIsUnpackedBelongsToTheLoginUserUnlessSaidOtherwise(t *testing.T) {
	x := newFixture(t)
	archive := func() io.Reader {
		return archived(t, tar.Header{Name: "implicit/file", Typeflag: tar.TypeReg, Mode: 0o600, Uid: 77, Gid: 88})
	}
	nobody, err := ownerNamed("nobody")
	must(t, err)
	x.expect(x.ask("PUT", "/v1/tar", x.path("new"), "", archive()), 404)
	x.expect(x.ask("PUT", "/v1/tar", x.path("new"), "&parents=true", archive()), 200)
	theirs := fmt.Sprintf("%d:%d", nobody.uid, nobody.gid)
	for path, want := range map[string]string{"new": "0755 ", "new/implicit": "0755 ", "new/implicit/file": "0600 "} {
		if got := rightsAt(t, x.path(path)); got != want+theirs {
			t.Errorf("%s: %s", path, got)
		}
	}
	x.expect(x.ask("PUT", "/v1/tar", x.path("new"), "&user=root", archive()), 200)
	if got := rightsAt(t, x.path("new/implicit/file")); got != "0600 0:0" {
		t.Error(got)
	}
}

// archived returns an archive of headers; the content of regular files is their name.
func archived(t *testing.T, headers ...tar.Header) io.Reader {
	t.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, header := range headers {
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(header.Name))
		}
		must(t, writer.WriteHeader(&header))
		if header.Typeflag == tar.TypeReg {
			_, err := writer.Write([]byte(header.Name))
			must(t, err)
		}
	}
	must(t, writer.Close())
	return &buffer
}

func TestHostileArchivesWriteNothingOutside(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	symlink := func(name, target string) tar.Header {
		return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o777}
	}
	hard := func(name, target string) tar.Header {
		return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeLink, Mode: 0o644}
	}
	directory := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }
	for name, c := range map[string]struct {
		status  int
		headers []tar.Header
	}{
		"parent":                   {422, []tar.Header{file("../outside/file")}},
		"parent inside":            {422, []tar.Header{file("a/../../outside/file")}},
		"absolute":                 {422, []tar.Header{file("/outside/file")}},
		"absolute link, then file": {422, []tar.Header{symlink("a", "/tmp"), file("a/mayfly-hostile")}},
		"link up, then file":       {422, []tar.Header{symlink("a", "../outside"), file("a/file")}},
		"two links":                {422, []tar.Header{symlink("a", ".."), symlink("b", "a/outside"), file("b/file")}},
		"link up, then directory":  {422, []tar.Header{symlink("a", "../outside"), directory("a")}},
		"link up, then below":      {422, []tar.Header{symlink("a", "../outside"), directory("a/made")}},
		"hard link outside":        {422, []tar.Header{hard("a", "../outside/canary")}},
		"hard link by a link":      {422, []tar.Header{symlink("a", "../outside"), hard("b", "a/canary")}},
		"link, then file over it":  {200, []tar.Header{symlink("a", "../outside/canary"), file("a")}},
		"hard link to a link": {200, []tar.Header{
			symlink("a", "../outside/canary"), hard("b", "a"), file("b"),
		}},
		"loop, then file":          {409, []tar.Header{symlink("a", "b"), symlink("b", "a"), file("a/file")}},
		"existing link, then file": {422, []tar.Header{file("present/file")}},
		"directory over a file":    {409, []tar.Header{file("a"), directory("a")}},
		"file over a directory":    {409, []tar.Header{directory("a/b"), file("a")}},
		"name longer than a path":  {422, []tar.Header{file(strings.Repeat("a/", 2_048) + "file")}},
		"device":                   {422, []tar.Header{{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}},
		"fifo":                     {422, []tar.Header{{Name: "fifo", Typeflag: tar.TypeFifo}}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			must(t, os.MkdirAll(x.path("outside"), 0o755))
			must(t, os.MkdirAll(x.path("target"), 0o755))
			x.write("outside/canary", "alive", 0o644)
			must(t, os.Symlink("../outside", x.path("target/present")))
			before := contentsOf(t, x.path("outside"))
			x.expect(x.ask("PUT", "/v1/tar", x.path("target"), "", archived(t, c.headers...)), c.status)
			if got := contentsOf(t, x.path("outside")); !slices.Equal(got, before) {
				t.Errorf("outside there is now\n%s", strings.Join(got, "\n"))
			}
			x.nothingLeft()
		})
	}
}

func TestABrokenArchiveLeavesNoHalfFile(t *testing.T) {
	x := newFixture(t)
	whole, err := io.ReadAll(archived(t,
		tar.Header{Name: "first", Typeflag: tar.TypeReg, Mode: 0o644},
		tar.Header{Name: strings.Repeat("s", 90), Typeflag: tar.TypeReg, Mode: 0o644}))
	must(t, err)
	cut := whole[:3*512+10]
	x.expect(x.ask("PUT", "/v1/tar", x.folder, "", broken{bytes.NewReader(cut)}), 500)
	x.expect(x.ask("PUT", "/v1/tar", x.folder, "", bytes.NewReader(cut)), 422)
	x.expect(x.ask("PUT", "/v1/tar", x.folder, "", strings.NewReader(strings.Repeat("no tar", 200))), 422)
	x.expect(x.ask("PUT", "/v1/tar", x.folder, "", broken{bytes.NewReader(whole)}), 500)
	entries, err := os.ReadDir(x.folder)
	must(t, err)
	if entries[0].Name() != "first" {
		t.Error(entries)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		must(t, err)
		if int(info.Size()) != len(entry.Name()) {
			t.Errorf("%s is half written", entry.Name())
		}
	}
	x.nothingLeft()
}

func TestOtherFileSystemsAndSocketsAreNotInTheArchive(t *testing.T) {
	x := newFixture(t)
	must(t, os.Mkdir(x.path("mounted"), 0o755))
	must(t, syscall.Mount("tmpfs", x.path("mounted"), "tmpfs", 0, ""))
	defer func() { _ = syscall.Unmount(x.path("mounted"), 0) }()
	x.write("mounted/file", "", 0o644)
	// Not bind(2), which limits paths to 107 bytes.
	must(t, syscall.Mknod(x.path("socket"), syscall.S_IFSOCK|0o644, 0))
	reader := tar.NewReader(strings.NewReader(x.expect(x.ask("GET", "/v1/tar", x.folder, "", nil), 200)))
	var names []string
	for {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		names = append(names, header.Name)
	}
	if !slices.Equal(names, []string{"./", "./mounted/"}) {
		t.Error(names)
	}
}

func TestAnArchiveOfGitIsUnpacked(t *testing.T) {
	x := newFixture(t)
	must(t, os.Mkdir(x.path("target"), 0o755))
	archive := archived(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "a commit"}},
		tar.Header{Name: "file", Typeflag: tar.TypeReg, Mode: 0o644},
	)
	answer := x.expect(x.ask("PUT", "/v1/tar", x.path("target"), "", archive), 200)
	if answer != `{"bytes":4,"entries":1}` {
		t.Error(answer)
	}
}

func TestArchivesThatShareDirectoriesAreUnpackedAtOnce(t *testing.T) {
	x := newFixture(t)
	for round := range 40 {
		atOnce(t, 8, func(i int) (int, string) {
			file := tar.Header{Name: fmt.Sprintf("a/b/c/%d", i), Typeflag: tar.TypeReg, Mode: 0o644}
			response := x.ask("PUT", "/v1/tar", x.path(fmt.Sprintf("shared%d", round)), "&parents=true", archived(t, file))
			body, _ := io.ReadAll(response.Body)
			return response.StatusCode, string(body)
		}, 200)
	}
}

func TestAFileThatShrinksIsFilledUpAndNamed(t *testing.T) {
	x := newFixture(t)
	x.write("short", "abc", 0o644)
	file, err := os.Open(x.path("short"))
	must(t, err)
	defer file.Close()
	var out bytes.Buffer
	a := &archiver{ctx: t.Context(), tar: tar.NewWriter(&out), buffer: make([]byte, blockBytes)}
	must(t, a.tar.WriteHeader(&tar.Header{Name: "short", Typeflag: tar.TypeReg, Mode: 0o644, Size: blockBytes + 10}))
	must(t, a.addContent(file, "short", blockBytes+10))
	must(t, a.tar.WriteHeader(&tar.Header{Name: "next", Typeflag: tar.TypeReg, Mode: 0o644}))
	must(t, a.tar.Close())
	reader := tar.NewReader(&out)
	_, err = reader.Next()
	must(t, err)
	content, err := io.ReadAll(reader)
	must(t, err)
	if want := append([]byte("abc"), make([]byte, blockBytes+7)...); !bytes.Equal(content, want) {
		t.Errorf("%d bytes", len(content))
	}
	note, err := reader.Next()
	must(t, err)
	want := fmt.Sprintf("mayfly: short: file shrank by %d bytes; padding with zeros", blockBytes+7)
	if note.PAXRecords["comment"] != want {
		t.Error(note.PAXRecords)
	}
	if next, err := reader.Next(); err != nil || next.Name != "next" {
		t.Error(next, err)
	}
}

func TestLinksWithinTheDirectoryAreFollowed(t *testing.T) {
	for name, link := range map[string]string{"absolute": "", "relative": "../run", "through another": "../run/../var/../run"} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			for _, folder := range []string{"target/run", "target/var"} {
				must(t, os.MkdirAll(x.path(folder), 0o755))
			}
			if link == "" {
				link = x.path("target/run")
			}
			must(t, os.Symlink(link, x.path("target/var/run")))
			archive := archived(t,
				tar.Header{Name: "var/run/", Typeflag: tar.TypeDir, Mode: 0o755},
				tar.Header{Name: "var/run/file", Typeflag: tar.TypeReg, Mode: 0o644})
			x.expect(x.ask("PUT", "/v1/tar", x.path("target"), "", archive), 200)
			if _, err := os.Stat(x.path("target/run/file")); err != nil {
				t.Error(err)
			}
			if info, err := os.Lstat(x.path("target/var/run")); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Error(info, err)
			}
			x.nothingLeft()
		})
	}
}

func TestAbsoluteLinksBelowTheRoot(t *testing.T) {
	x := newFixture(t)
	root, err := os.OpenRoot("/")
	must(t, err)
	defer root.Close()
	must(t, os.Mkdir(x.path("real"), 0o755))
	must(t, os.Symlink(x.path("real"), x.path("link")))
	u := &unpacker{root: root, path: "/"}
	got, err := u.resolve(strings.TrimPrefix(x.path("link/file"), "/"), false)
	if want := strings.TrimPrefix(x.path("real/file"), "/"); err != nil || got != want {
		t.Error(got, err)
	}
}
