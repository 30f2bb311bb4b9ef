package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/agent/accounts"
)

func TestNamesOfVariables(t *testing.T) {
	for name, good := range map[string]bool{
		"A": true, "_a1": true, "PATH": true, "": false, "1A": false, "A-B": false, "A=B": false, "A B": false,
		"A\n": false, "É": false, "BASH_FUNC_x%%": false, "@": false, "[": false, "`": false, "{": false,
	} {
		if isVariableName(name) != good {
			t.Errorf("%q: %v", name, !good)
		}
	}
}

func TestIdsAreNoPaths(t *testing.T) {
	for id, good := range map[string]bool{
		"cmd-0123456789abcdef": true, "cmd-zzzzzzzzzzzzzzzz": true, "cmd-012345678": false, "": false,
		"cmd-../../../../etc0": false, "cmd-0123456789ABCDEF": false, "cmd-0123456789abcdei": false,
		"sbx-0123456789abcdef": false,
	} {
		if isCommandID(id) != good {
			t.Errorf("%q: %v", id, !good)
		}
	}
}

func TestProgramsAreFoundAsTheUserCouldRunThem(t *testing.T) {
	folder := t.TempDir()
	program := func(name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	program("mine", 0o700)
	program("everybodys", 0o755)
	program("text", 0o644)
	owner := uint32(os.Getuid())
	for _, one := range []struct {
		name   string
		uid    uint32
		groups []uint32
		found  bool
	}{
		{"mine", owner, nil, true}, {"mine", 4711, nil, false}, {"everybodys", 4711, nil, true},
		{"text", owner, nil, false}, {"none", owner, nil, false}, {"./everybodys", 4711, nil, true}, {".", owner, nil, false},
	} {
		l := &launch{account: &accounts.Account{UID: one.uid, Groups: one.groups}, env: []string{"PATH=/nowhere:" + folder}, cwd: folder}
		if _, err := l.find(one.name); (err == nil) != one.found {
			t.Errorf("%s as %d: %v", one.name, one.uid, err)
		}
	}
}

func TestAFailureDoesNotTellTheEnvironment(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "text"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := &launch{account: &accounts.Account{UID: 4711}, env: []string{"PATH=" + folder}, cwd: "/"}
	for _, name := range []string{"text", "none"} {
		if _, err := l.find(name); err == nil || strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
