package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mayfly/diff/disk"
	"mayfly/diff/fault"
)

const mebibyte = 1 << 20

// tool runs a program of this machine that creates images.
func tool(t testing.TB, input string, argv ...string) string {
	t.Helper()
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C",
		"E2FSPROGS_FAKE_TIME=1510000000") // what mke2fs and debugfs take for the time
	if !strings.Contains(argv[0], "/") {
		if found, err := exec.LookPath("/sbin/" + argv[0]); err == nil {
			command.Path, command.Err = found, nil
		}
	}
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, output)
	}
	return string(output)
}

// newImage creates a file system with the content of a folder ("" for none).
func newImage(t testing.TB, size int64, folder string, options ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"mke2fs", "-q", "-F"}, options...)
	if !slices.Contains(options, "-b") {
		argv = append(argv, "-b", "4096") // small ones would get smaller blocks
	}
	if folder != "" {
		argv = append(argv, "-d", folder)
	}
	tool(t, "", append(argv, path)...)
	return path
}

func copyOf(t testing.TB, path string) string {
	t.Helper()
	other := filepath.Join(t.TempDir(), "copy")
	tool(t, "", "cp", "--sparse=always", path, other)
	return other
}

// debugfs runs commands on an image. It continues after errors, so its output is checked.
func debugfs(t testing.TB, path string, commands ...string) {
	t.Helper()
	output := tool(t, strings.Join(commands, "\n")+"\n", "debugfs", "-w", "-f", "-", path)
	for _, line := range strings.Split(output, "\n") {
		if line != "" && !strings.HasPrefix(line, "debugfs") && !strings.HasPrefix(line, "Allocated inode") {
			t.Fatalf("debugfs: %.500s", output[max(0, strings.Index(output, line)-300):])
		}
	}
}

func layersOf(t testing.TB, paths ...string) image {
	t.Helper()
	var found image
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		format := "raw"
		if strings.HasSuffix(path, ".qcow2") {
			format = "qcow2"
		}
		found.Layers = append(found.Layers, disk.Layer{FD: int(file.Fd()), Format: format})
	}
	return found
}

type line struct {
	Line, Change string
	Path, From   json.RawMessage
	What         []string
	Digest       *string
	Before       json.RawMessage
	Journal      string
}

// `ask` answers a request in this process, unconfined.
func ask(asked request) ([]byte, error) {
	if asked.Seconds == 0 {
		asked.Seconds = 600
	}
	var answer bytes.Buffer
	err := asked.answer(&answer)
	return answer.Bytes(), err
}

func changes(t testing.TB, before, after image, within ...[]byte) []line {
	t.Helper()
	answer, err := ask(request{Mode: "lines", Before: before, After: after, Within: within})
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for decoder := json.NewDecoder(bytes.NewReader(answer)); decoder.More(); {
		var one line
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, one)
	}
	if len(lines) < 2 || lines[0].Line != "start" || lines[len(lines)-1].Line != "end" {
		t.Fatalf("the answer has no start or no end: %s", answer)
	}
	return lines[1 : len(lines)-1]
}

// contentOf returns the size of a file and its first bytes.
func contentOf(t testing.TB, of image, path string, limit int64) (int, string) {
	t.Helper()
	answer, err := ask(request{Mode: "content", After: of, Path: []byte(path), Bytes: limit})
	if err != nil || len(answer) < 8 {
		t.Fatalf("%d bytes about %s, %v", len(answer), path, err)
	}
	return int(binary.BigEndian.Uint64(answer)), string(answer[8:])
}

// brief formats a change: `changed /a content,mtime`, `renamed /b from /a`.
func (l line) brief() string {
	text := l.Change + " " + name(l.Path)
	if string(l.From) != "null" {
		text += " from " + name(l.From)
	}
	if len(l.What) > 0 {
		text += " " + strings.Join(l.What, ",")
	}
	return text
}

func name(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func briefs(lines []line) []string {
	texts := []string{}
	for _, one := range lines {
		texts = append(texts, one.brief())
	}
	return texts
}

func expectChanges(t testing.TB, before, after image, expected ...string) {
	t.Helper()
	expectChangesWithin(t, nil, before, after, expected...)
}

func expectChangesWithin(t testing.TB, within [][]byte, before, after image, expected ...string) {
	t.Helper()
	found := briefs(changes(t, before, after, within...))
	slices.Sort(found)
	slices.Sort(expected)
	if !slices.Equal(found, expected) {
		t.Errorf("found:\n  %s\nexpected:\n  %s", strings.Join(found, "\n  "), strings.Join(expected, "\n  "))
	}
}

func expectFault(t testing.TB, code fault.Code, before, after image) {
	t.Helper()
	started := processorTime(t)
	answer, err := ask(request{Mode: "lines", Before: before, After: after})
	found, is := err.(*fault.Fault)
	if !is || found.Code != code {
		t.Errorf("%v where a fault of kind %s was expected; %d bytes of answer", err, code, len(answer))
	}
	if took := processorTime(t) - started; took > 20*time.Second {
		t.Errorf("it took %s to see that", took)
	}
}

// processorTime returns the CPU time of this process: wall-clock time depends on the machine's load.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func write(t testing.TB, path string, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// sampleFolder creates files of every type that an unprivileged test can make.
func sampleFolder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	write(t, folder+"/etc/hosts", "127.0.0.1 localhost\n")
	write(t, folder+"/etc/empty", "")
	write(t, folder+"/small", strings.Repeat("s", 50))
	write(t, folder+"/medium", strings.Repeat("m", 130))
	write(t, folder+"/large", strings.Repeat("0123456789abcdef", 40_000))
	for index := range 300 {
		write(t, fmt.Sprintf("%s/many/a-rather-long-name-to-fill-blocks-%d", folder, index), fmt.Sprint(index))
	}
	old := time.Unix(1_500_000_000, 0)
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	})
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"short": "etc/hosts", "long": strings.Repeat("x/", 100)} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
