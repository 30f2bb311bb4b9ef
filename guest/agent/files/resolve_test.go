package files

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startedProcess is another process, with a secret in its environment.
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
