package main

import (
	"bytes"
	"testing"

	"mayfly/diff/fault"
)

func TestScope(t *testing.T) {
	before := renamable(t)
	after := copyOf(t, before)
	debugfs(t, after,
		"sif /a mode 040700", "sif /a/one mode 0100600", "sif /a/deep/three uid 7", "rm /b/four", "ln /five /b/five",
		"unlink /five", "ln /a/two /z", "unlink /a/two", "mkdir /new", "mkdir /new/b")
	for name, test := range map[string]struct{ within, expected []string }{
		"all":                       {nil, []string{"changed /a mode", "changed /a/one mode", "changed /a/deep/three owner", "removed /b/four", "renamed /b/five from /five", "renamed /z from /a/two", "added /new", "added /new/b"}},
		"the root is all":           {[]string{"/"}, []string{"changed /a mode", "changed /a/one mode", "changed /a/deep/three owner", "removed /b/four", "renamed /b/five from /five", "renamed /z from /a/two", "added /new", "added /new/b"}},
		"a tree":                    {[]string{"/a"}, []string{"changed /a mode", "changed /a/one mode", "changed /a/deep/three owner", "removed /a/two"}},
		"a tree in another":         {[]string{"/a/deep/"}, []string{"changed /a/deep/three owner"}},
		"the whole over a part":     {[]string{"/a/deep", "/a"}, []string{"changed /a mode", "changed /a/one mode", "changed /a/deep/three owner", "removed /a/two"}},
		"a file":                    {[]string{"//a///one"}, []string{"changed /a/one mode"}},
		"a new folder in a new one": {[]string{"/new/b"}, []string{"added /new/b"}},
		"both ends of a rename":     {[]string{"/five", "/b/five"}, []string{"renamed /b/five from /five"}},
		"one end of a rename":       {[]string{"/b"}, []string{"removed /b/four", "added /b/five"}},
		"what is not there":         {[]string{"/nothing", "/five/below", "/a/.."}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var within [][]byte
			for _, path := range test.within {
				within = append(within, []byte(path))
			}
			expectChangesWithin(t, within, layersOf(t, before), layersOf(t, after), test.expected...)
		})
	}
	_, err := ask(request{Mode: "lines", Before: layersOf(t, before), After: layersOf(t, after), Within: [][]byte{[]byte("a")}})
	if found, is := err.(*fault.Fault); !is || found.Code != fault.BadRequest {
		t.Errorf("a relative path: %v", err)
	}
}

// Files outside the scope are not read: they may be corrupt.
func TestScopeLeavesTheRestUnread(t *testing.T) {
	before := renamable(t)
	after := copyOf(t, before)
	debugfs(t, after, "sif /b/four mode 0", "sif /a/one mode 0100600")
	expectFault(t, fault.Corrupt, layersOf(t, before), layersOf(t, after))
	expectChangesWithin(t, [][]byte{[]byte("/a")}, layersOf(t, before), layersOf(t, after), "changed /a/one mode")
}

// A renamed directory on the way to the scope is not reported.
func TestScopeInARenamedFolder(t *testing.T) {
	before := renamable(t)
	after := copyOf(t, before)
	debugfs(t, after, "ln /a /z", "unlink /a")
	within := [][]byte{[]byte("/a/one"), []byte("/z/one"), []byte("/z/deep"), []byte("/a/deep")}
	expectChangesWithin(t, within, layersOf(t, before), layersOf(t, after), "renamed /z/one from /a/one", "renamed /z/deep from /a/deep")
}

// Hidden files are in no list, count or archive, also under a visible old name.
func TestHidden(t *testing.T) {
	before := renamable(t)
	after := copyOf(t, before)
	debugfs(t, after, "sif /a/one mode 0100600", "ln /a/two /z", "unlink /a/two", "ln /b/four /a/deep/four", "unlink /b/four", "mkdir /new")
	asked := request{Before: layersOf(t, before), After: layersOf(t, after), Without: []string{"/a/deep", "/a/t*", "/a/on*", "/n"}}
	asked.Mode = "lines"
	answer, err := ask(asked)
	if err != nil || !bytes.Contains(answer, []byte(`"added":2,"changed":0,"removed":1,"renamed":0`)) || bytes.Contains(answer, []byte(`"/a/`)) {
		t.Errorf("%v: %s", err, answer)
	}
	asked.Mode = "tar"
	archive, err := ask(asked)
	if err != nil {
		t.Fatal(err)
	}
	listing := tool(t, "", "tar", "-t", "-f", write(t, t.TempDir()+"/changes.tar", string(archive)))
	if listing != "./b/.wh.four\n./new/\n./z\n" {
		t.Error(listing)
	}
}
