package files

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mayfly/agent/answer"
)

// hostileNames are valid but unusual file names.
var hostileNames = []string{
	"with space", "new\nline", `quo"te's`, "back\\slash", "-rf", "--", "$(touch x)", "`x`", "*?[a]", "%2F", "\xff\xfe",
	"ünï", "\u202egnp", "\x01\x7f", "~", " ", strings.Repeat("n", 255), strings.Repeat("\xff", 255),
}

type fixture struct {
	t      *testing.T
	mux    *http.ServeMux
	state  string
	folder string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	x := &fixture{t, http.NewServeMux(), t.TempDir(), t.TempDir()}
	if err := Register(x.mux, x.state, "nobody"); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *fixture) path(name string) string { return x.folder + "/" + name }

// write creates a file without the agent.
func (x *fixture) write(name, content string, mode os.FileMode) string {
	x.t.Helper()
	path := x.path(name)
	must(x.t, os.WriteFile(path, []byte(content), mode))
	must(x.t, os.Chmod(path, mode))
	return path
}

// `ask` sends a request; query extends the path and begins with "&".
func (x *fixture) ask(method, route, path, query string, body io.Reader, header ...string) *http.Response {
	x.t.Helper()
	encoded := base64.RawURLEncoding.EncodeToString([]byte(path))
	request := httptest.NewRequest(method, route+"?path="+encoded+query, body)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	x.mux.ServeHTTP(recorder, request)
	return recorder.Result()
}

func (x *fixture) expect(response *http.Response, status int) string {
	x.t.Helper()
	body, err := io.ReadAll(response.Body)
	must(x.t, err)
	if response.StatusCode != status {
		x.t.Fatalf("status %d, not %d: %s", response.StatusCode, status, body)
	}
	return string(body)
}

// nothingLeft fails when a temporary file or an entry of the journal exists.
func (x *fixture) nothingLeft() {
	x.t.Helper()
	entries, err := os.ReadDir(filepath.Join(x.state, "uploads"))
	must(x.t, err)
	if len(entries) > 0 {
		x.t.Errorf("the journal still has %s", entries[0].Name())
	}
	must(x.t, filepath.WalkDir(x.folder, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), temporaryPrefix) {
			x.t.Errorf("%s is left", path)
		}
		return err
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rightsAt(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	stat := statOf(info)
	return fmt.Sprintf("%s %d:%d", octal(info.Mode()), stat.Uid, stat.Gid)
}

func TestAnyNameIsWrittenReadListedAndRemoved(t *testing.T) {
	x := newFixture(t)
	for _, name := range hostileNames {
		path := x.path(name)
		x.expect(x.ask("PUT", "/v1/files", path, "", strings.NewReader("of "+name)), 201)
		if got := x.expect(x.ask("GET", "/v1/files", path, "", nil), 200); got != "of "+name {
			t.Errorf("%q has %q", name, got)
		}
		x.expect(x.ask("HEAD", "/v1/files", path, "", nil), 200)
		x.expect(x.ask("DELETE", "/v1/files", path, "", nil), 204)
		x.expect(x.ask("GET", "/v1/files", path, "", nil), 404)
	}
	x.nothingLeft()
}

func TestPathsAreRefused(t *testing.T) {
	x := newFixture(t)
	for _, path := range []string{"", "relative", "/nul\x00byte"} {
		x.expect(x.ask("GET", "/v1/files", path, "", nil), 422)
	}
	x.expect(x.ask("GET", "/v1/files", "/"+strings.Repeat("x", 256), "", nil), 422)
	x.expect(x.ask("GET", "/v1/files", x.path("none"), "", nil), 404)
	x.write("file", "", 0o644)
	x.expect(x.ask("GET", "/v1/files", x.path("file/below"), "", nil), 409)
	x.expect(x.ask("PUT", "/v1/files", x.path("none/file"), "", strings.NewReader("")), 404)
	x.expect(x.ask("PUT", "/v1/files", x.folder+"/", "", strings.NewReader("")), 409)
	x.expect(x.ask("PUT", "/v1/files", x.path(".."), "", strings.NewReader("")), 409)
	x.expect(x.ask("DELETE", "/v1/files", "//", "&recursive=true", nil), 409)
	x.nothingLeft()
}

func TestRanges(t *testing.T) {
	x := newFixture(t)
	path := x.write("digits", "0123456789", 0o644)
	etag := x.ask("HEAD", "/v1/files", path, "", nil).Header.Get("ETag")
	for _, c := range []struct {
		header, condition string
		status            int
		body, where       string
	}{
		{"bytes=0-0", "", 206, "0", "bytes 0-0/10"},
		{"bytes=3-5", etag, 206, "345", "bytes 3-5/10"},
		{"bytes=3-5", `"other"`, 200, "0123456789", ""},
		{"bytes=7-", "", 206, "789", "bytes 7-9/10"},
		{"bytes=7-999999999999999999999", "", 206, "789", "bytes 7-9/10"},
		{"bytes=-3", "", 206, "789", "bytes 7-9/10"},
		{"bytes=-30", "", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=10-", "", 416, "", "bytes */10"},
		{"bytes=-0", "", 416, "", "bytes */10"},
		{"bytes=5-3", "", 200, "0123456789", ""},
		{"bytes=0-1,3-4", "", 200, "0123456789", ""},
		{"bytes=-", "", 200, "0123456789", ""},
		{"lines=0-1", "", 200, "0123456789", ""},
	} {
		response := x.ask("GET", "/v1/files", path, "", nil, "Range", c.header, "If-Range", c.condition)
		body := x.expect(response, c.status)
		if c.status != 416 && body != c.body || response.Header.Get("Content-Range") != c.where {
			t.Errorf("%s: %q, %s", c.header, body, response.Header.Get("Content-Range"))
		}
	}
}

func TestWhatIsNoFileIsRefusedWithoutWaiting(t *testing.T) {
	x := newFixture(t)
	must(t, syscall.Mkfifo(x.path("fifo"), 0o644))
	must(t, syscall.Mknod(x.path("null"), syscall.S_IFCHR|0o666, 1<<8|3))
	for _, name := range []string{"fifo", "null", ""} {
		x.expect(x.ask("GET", "/v1/files", x.path(name), "", nil), 409)
		x.expect(x.ask("PUT", "/v1/files", x.path(name), "", strings.NewReader("x")), 409)
		x.expect(x.ask("HEAD", "/v1/files", x.path(name), "", nil), 200)
	}
	if kind := x.ask("GET", "/v1/files", x.folder, "", nil).Header.Get("X-Mayfly-Type"); kind != "directory" {
		t.Errorf("a directory calls itself %q", kind)
	}
	x.nothingLeft()
}

func TestFilesOfTheKernelHaveContentButNotTheirSize(t *testing.T) {
	x := newFixture(t)
	for _, path := range []string{"/proc/version", "/sys/devices/system/cpu/online"} {
		want, err := os.ReadFile(path)
		must(t, err)
		if got := x.expect(x.ask("GET", "/v1/files", path, "", nil), 200); got != string(want) {
			t.Errorf("got %q", got)
		}
	}
}

func TestAnUploadKeepsTheRightsOfWhatItReplaces(t *testing.T) {
	x := newFixture(t)
	put := func(name, query string, status int) string {
		x.expect(x.ask("PUT", "/v1/files", x.path(name), query, strings.NewReader("new")), status)
		return rightsAt(t, x.path(name))
	}
	nobody, err := ownerNamed("nobody")
	must(t, err)
	theirs := fmt.Sprintf("%d:%d", nobody.uid, nobody.gid)
	if got := put("fresh", "", 201); got != "0644 "+theirs {
		t.Error(got)
	}
	x.write("kept", "old", 0o4751)
	must(t, os.Chown(x.path("kept"), 12, 34))
	must(t, os.Chmod(x.path("kept"), 0o751|os.ModeSetuid))
	if got := put("kept", "", 200); got != "4751 12:34" {
		t.Error(got)
	}
	if got := put("kept", "&mode=600&user=root", 200); got != "0600 0:0" {
		t.Error(got)
	}
	if got := put("kept", "&group=0", 200); got != fmt.Sprintf("0600 %d:0", nobody.uid) {
		t.Error(got)
	}
	for _, query := range []string{"&mode=9", "&mode=17777", "&user=no-such", "&group=no-such", "&parents=yes"} {
		x.expect(x.ask("PUT", "/v1/files", x.path("kept"), query, strings.NewReader("")), 422)
	}
}

func TestAnUploadFollowsLinksAndHeadAndDeleteDoNot(t *testing.T) {
	x := newFixture(t)
	must(t, os.Mkdir(x.path("d"), 0o755))
	must(t, os.Symlink("d/target", x.path("link")))
	x.expect(x.ask("PUT", "/v1/files", x.path("link"), "", strings.NewReader("through")), 201)
	content, err := os.ReadFile(x.path("d/target"))
	if err != nil || string(content) != "through" {
		t.Fatal(string(content), err)
	}
	head := x.ask("HEAD", "/v1/files", x.path("link"), "", nil)
	if head.Header.Get("X-Mayfly-Type") != "symlink" || head.Header.Get("X-Mayfly-Target") != "d/target" {
		t.Error(head.Header)
	}
	x.expect(x.ask("DELETE", "/v1/files", x.path("link")+"/", "&recursive=true", nil), 204)
	if _, err := os.Stat(x.path("d/target")); err != nil {
		t.Error(err)
	}
	must(t, os.Symlink("loop", x.path("loop")))
	x.expect(x.ask("PUT", "/v1/files", x.path("loop"), "", strings.NewReader("")), 409)
	x.nothingLeft()
}

// broken fails after some bytes, like the body of a disconnected client.
type broken struct{ first io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.first.Read(p)
	if err == io.EOF {
		err = errors.New("client disconnected")
	}
	return n, err
}

func TestABrokenUploadChangesNothing(t *testing.T) {
	x := newFixture(t)
	path := x.write("file", "old", 0o640)
	body := broken{bytes.NewReader(make([]byte, 3*blockBytes+1))}
	x.expect(x.ask("PUT", "/v1/files", path, "", body), 500)
	if content, _ := os.ReadFile(path); string(content) != "old" {
		t.Errorf("it has %d bytes", len(content))
	}
	x.expect(x.ask("PUT", "/v1/files", x.path("a/b/c"), "&parents=true", broken{strings.NewReader("x")}), 500)
	if _, err := os.Stat(x.path("a")); !os.IsNotExist(err) {
		t.Error("directories that were made for it are left")
	}
	x.expect(x.ask("PUT", "/v1/files", x.path("a/b/c"), "&parents=true", strings.NewReader("x")), 201)
	x.nothingLeft()
}

func TestAFullOrReadOnlyDiskIsSaidSo(t *testing.T) {
	x := newFixture(t)
	must(t, syscall.Mount("tmpfs", x.folder, "tmpfs", 0, "size=64k"))
	defer func() { _ = syscall.Unmount(x.folder, 0) }()
	x.expect(x.ask("PUT", "/v1/files", x.path("big"), "", bytes.NewReader(make([]byte, 1<<20))), 507)
	x.nothingLeft()
	must(t, syscall.Mount("", x.folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	x.expect(x.ask("PUT", "/v1/files", x.path("any"), "", strings.NewReader("")), 403)
	x.expect(x.ask("DELETE", "/v1/files", x.folder, "&recursive=true", nil), 409)
}

func TestWhatAKilledAgentLeftIsRemovedAtTheNextStart(t *testing.T) {
	x := newFixture(t)
	root, err := os.OpenRoot(x.folder)
	must(t, err)
	defer root.Close()
	journal := &journal{filepath.Join(x.state, "uploads")}
	left, err := journal.stage(root, x.folder)
	must(t, err)
	file, err := left.create()
	must(t, err)
	file.Close()
	// An entry without a file: from before its creation, or after its placement.
	_, err = journal.stage(root, x.folder)
	must(t, err)
	innocent := x.write("innocent", "", 0o644)
	must(t, os.Symlink(innocent, filepath.Join(x.state, "uploads", temporaryPrefix+"x")))
	_, err = openJournal(filepath.Join(x.state, "uploads"))
	must(t, err)
	x.nothingLeft()
	if _, err := os.Stat(innocent); err != nil {
		t.Error("what is no temporary file was removed")
	}
}

func TestDirectoriesAreRemovedWhenToldSo(t *testing.T) {
	x := newFixture(t)
	must(t, os.MkdirAll(x.path("d/e"), 0o755))
	x.expect(x.ask("DELETE", "/v1/files", x.path("d"), "", nil), 409)
	x.expect(x.ask("DELETE", "/v1/files", x.path("d/e"), "", nil), 204)
	x.expect(x.ask("DELETE", "/v1/files", x.path("d"), "&recursive=true", nil), 204)
	x.expect(x.ask("DELETE", "/v1/files", x.path("d"), "&recursive=true", nil), 404)
}

func TestADirectoryIsNotRemovedByAnotherName(t *testing.T) {
	x := newFixture(t)
	must(t, os.MkdirAll(x.path("d/e"), 0o755))
	for _, path := range []string{x.path("d/e/.."), x.path("d/e/../"), x.path("d/."), "/..", "/."} {
		if strings.HasPrefix(path, x.folder) { // never where it could succeed
			x.expect(x.ask("DELETE", "/v1/files", path, "&recursive=true", nil), 409)
		}
		x.expect(x.ask("DELETE", "/v1/files", path, "", nil), 409)
	}
	if _, err := os.Stat(x.path("d/e")); err != nil {
		t.Error(err)
	}
}

// atOnce runs do several times concurrently.
func atOnce(t *testing.T, times int, do func(i int) (int, string), status int) {
	t.Helper()
	var running sync.WaitGroup
	for i := range times {
		running.Go(func() {
			if got, said := do(i); got != status {
				t.Errorf("status %d: %s", got, said)
			}
		})
	}
	running.Wait()
}

func TestUploadsThatShareNewDirectoriesAllSucceed(t *testing.T) {
	x := newFixture(t)
	for round := range 40 {
		atOnce(t, 8, func(i int) (int, string) {
			path := x.path(fmt.Sprintf("%d/a/b/c/%d", round, i))
			response := x.ask("PUT", "/v1/files", path, "&parents=true", strings.NewReader(""))
			body, _ := io.ReadAll(response.Body)
			return response.StatusCode, string(body)
		}, 201)
	}
	x.nothingLeft()
}

func TestContentThatDoesNotComeIsNotLeftOutSilently(t *testing.T) {
	reader, writer, err := os.Pipe()
	must(t, err)
	defer reader.Close()
	defer writer.Close()
	_, err = writer.WriteString("the beginning")
	must(t, err)
	recorder := httptest.NewRecorder()
	err = sendUnsized(recorder, reader, "/proc/waits")
	var known *answer.Refusal
	if !errors.As(err, &known) || known.Code != "file_conflict" || recorder.Body.Len() > 0 {
		t.Errorf("%v, and answered %q", err, recorder.Body)
	}
}

// startedProcess starts another process, with a secret in its environment.
func startedProcess(t *testing.T) int {
	t.Helper()
	program := exec.Command("/bin/cat")
	program.Env = []string{"TOKEN=of-another"}
	program.Dir = t.TempDir()
	_, err := program.StdinPipe()
	must(t, err)
	must(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	return program.Process.Pid
}

func TestWhatAProcessHasForItselfIsClosed(t *testing.T) {
	x := newFixture(t)
	process := fmt.Sprintf("/proc/%d", startedProcess(t))
	x.write("secret", "of the guest", 0o600)
	must(t, os.Symlink("/proc", x.path("proc")))
	must(t, os.Symlink(process+"/root", x.path("root")))
	must(t, os.Symlink("root/..", x.path("around")))
	must(t, os.Symlink(process+"/environ", x.path("environ")))
	must(t, os.Symlink("environ", x.path("again")))
	task := process + "/task" + strings.TrimPrefix(process, "/proc")
	paths := []string{x.path("root") + x.path("secret"), x.path("around"), x.path("environ"), x.path("again")}
	for _, place := range []string{process, task, x.path("proc") + "/self", "/proc/thread-self", "/proc/../" + process} {
		for _, name := range []string{"root", "cwd", "fd", "environ", "mem", "exe", "fd/0", "root/etc/hostname", "cwd/none", "auxv"} {
			paths = append(paths, place+"/"+name)
		}
	}
	paths = append(paths, process+"/map_files", "/dev/fd/0")
	for _, path := range paths {
		for _, route := range [][2]string{{"GET", "/v1/files"}, {"GET", "/v1/directory"}, {"GET", "/v1/tar"}} {
			x.refused(path, x.ask(route[0], route[1], path, "", nil))
		}
	}
	for _, name := range []string{"root", "environ", "root/etc/hostname"} {
		path := process + "/" + name
		head := x.ask("HEAD", "/v1/files", path, "", nil)
		if head.StatusCode != http.StatusForbidden {
			t.Errorf("HEAD %s: %d", path, head.StatusCode)
		}
	}
	inside := process + "/root" + x.path("new")
	for _, path := range []string{inside, inside + "/deep"} {
		x.refused(path, x.ask("PUT", "/v1/files", path, "&parents=true", strings.NewReader("x")))
		x.refused(path, x.ask("DELETE", "/v1/files", path, "&recursive=true", nil))
		x.refused(path, x.ask("PUT", "/v1/tar", path, "&parents=true", strings.NewReader("")))
	}
	if _, err := os.Stat(x.path("new")); err == nil {
		t.Error("something was written")
	}
}

func TestTheRestOfProcIsOpen(t *testing.T) {
	x := newFixture(t)
	process := fmt.Sprintf("/proc/%d", startedProcess(t))
	must(t, os.Mkdir(x.path("root"), 0o755))
	x.write("root/environ", "a file of that name", 0o644)
	for _, path := range []string{"/proc/meminfo", "/proc/self/status", process + "/cmdline", "/proc/mounts", x.path("root/environ")} {
		if got := x.ask("GET", "/v1/files", path, "", nil); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	if got := x.ask("GET", "/v1/directory", process, "", nil); got.StatusCode != http.StatusOK {
		t.Errorf("%s: %d", process, got.StatusCode)
	}
}

func TestAClosedFileIsNotGivenOut(t *testing.T) {
	x := newFixture(t)
	path := x.write("passwd", "of the desktop", 0o600)
	x.write("open", "of anybody", 0o600)
	must(t, os.Symlink(path, x.path("link")))
	must(t, os.Link(path, x.path("hard")))
	closed := "&closed=" + base64.RawURLEncoding.EncodeToString([]byte(path))
	for _, name := range []string{"passwd", "link", "hard"} {
		x.refused(name, x.ask("GET", "/v1/files", x.path(name), closed, nil))
	}
	x.expect(x.ask("GET", "/v1/files", x.path("open"), closed, nil), 200)
	x.expect(x.ask("GET", "/v1/files", path, "", nil), 200)
	archive := x.expect(x.ask("GET", "/v1/tar", x.folder, closed, nil), 200)
	if strings.Contains(archive, "of the desktop") || !strings.Contains(archive, "of anybody") {
		t.Error("the archive has another content")
	}
}

func (x *fixture) refused(path string, got *http.Response) {
	x.t.Helper()
	if code := got.Header.Get("X-Mayfly-Code"); got.StatusCode != http.StatusForbidden {
		x.t.Errorf("%s %d %s", path, got.StatusCode, code)
	}
}
