package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, one := range []struct {
		pattern, name string
		matches       bool
	}{
		{"*", "a", true}, {"*", ".a", false}, {".*", ".a", true}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false},
		{"?", "ä", true}, {"??", "a", false}, {"[a-c]", "b", true}, {"[!a-c]", "b", false}, {"[]x]", "]", true}, {"[!]]", "a", true},
		{"[a", "[a", true}, {"[[:digit:]]*", "7x", true}, {"[[:digit:]]", "x", false}, {`\*`, "*", true}, {`\*`, "x", false}, {`[\]]`, "]", true},
		{"[.]x", ".x", false}, {"a[-]b", "a-b", true}, {`[a\-c]`, "b", false}, {"*.conf", "x.conf", true}, {"***", "abc", true},
	} {
		if patternOf(one.pattern).matches(one.name) != one.matches {
			t.Errorf("%s against %s", one.pattern, one.name)
		}
	}
}

func TestExpand(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/x.log", "a/y.log", "a/.z.log", "b/x.log", "-rf"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, expected := range map[string][]string{
		"/*/*.log": {"/a/x.log", "/a/y.log", "/b/x.log"}, "/[a]/*": {"/a/x.log", "/a/y.log"}, "/*/": {"/a/", "/b/"},
		"/nothing*": nil, "/a/x*/": nil, "/a/../b/*": {"/a/../b/x.log"},
	} {
		e := &expander{limit: 10}
		names, err := e.expand(root + pattern)
		for i := range expected {
			expected[i] = root + expected[i]
		}
		if err != nil || !slices.Equal(names, expected) {
			t.Errorf("%s: %v, %v", pattern, names, err)
		}
	}
	e := &expander{limit: 2}
	if _, err := e.expand(root + "/*/*"); err == nil {
		t.Error("three names are allowed where two are")
	}
	if asOperand("-rf") != "./-rf" || asOperand("!x") != "./!x" || asOperand("a") != "a" {
		t.Error("a name can be an option")
	}
}
