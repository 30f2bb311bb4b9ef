package main

import "testing"

// renamable returns an image without checksums, which lets debugfs change the generation of a directory.
func renamable(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, path := range []string{"/a/one", "/a/two", "/a/deep/three", "/b/four", "/five", "/six"} {
		write(t, folder+path, path)
	}
	image := newImage(t, 16*mebibyte, folder, "-t", "ext4", "-O", "^metadata_csum")
	var commands []string
	for index, path := range []string{"/a", "/a/one", "/a/two", "/a/deep", "/a/deep/three", "/b", "/b/four", "/five", "/six"} {
		commands = append(commands, generation(path, 100+index))
	}
	debugfs(t, image, commands...)
	return image
}

func TestRenames(t *testing.T) {
	for name, test := range map[string]struct{ commands, expected []string }{
		"a directory, with its content": {
			[]string{"ln /a /z", "unlink /a"}, []string{"renamed /z from /a"},
		},
		"a directory, and changes below": {
			[]string{"ln /a /z", "unlink /a", "rm /z/one", "sif /z/two mode 0100600", "mkdir /z/new", "ln /z/deep /z/d", "unlink /z/deep"},
			[]string{"renamed /z from /a", "removed /a/one", "changed /z/two mode", "added /z/new", "renamed /z/d from /a/deep"},
		},
		"a directory into a new one": {
			[]string{"mkdir /new", "ln /a /new/a", "unlink /a"}, []string{"added /new", "renamed /new/a from /a"},
		},
		"out of a removed one": {
			[]string{"ln /a/deep /d", "unlink /a/deep", "rm /a/one", "rm /a/two", "rmdir /a"},
			[]string{"renamed /d from /a/deep", "removed /a", "removed /a/one", "removed /a/two"},
		},
		"inside out": {
			[]string{"ln /a/deep /z", "unlink /a/deep", "ln /a /z/a", "unlink /a"},
			[]string{"renamed /z from /a/deep", "renamed /z/a from /a"},
		},
		"over another": {
			[]string{"rm /six", "ln /five /six", "unlink /five"}, []string{"removed /five", "changed /six content"},
		},
		"two that change places": {
			[]string{"ln /five /x", "unlink /five", "ln /six /five", "unlink /six", "ln /x /six", "unlink /x"},
			[]string{"changed /five content", "changed /six content"},
		},
		"a new link is no rename": {
			[]string{"ln /five /seven", "sif /five links_count 2"}, []string{"added /seven"},
		},
		"one of two names": {
			[]string{"ln /five /b/five", "sif /five links_count 2", "unlink /five"}, []string{"renamed /b/five from /five"},
		},
		"two new names for one": {
			[]string{"ln /five /b/five", "ln /five /b/fifth", "unlink /five"},
			[]string{"removed /five", "added /b/five", "added /b/fifth"},
		},
		"the same number for another file": {
			[]string{"ln /five /seven", "unlink /five", generation("/seven", 999)}, []string{"removed /five", "added /seven"},
		},
		"a renamed file that changed": {
			[]string{"ln /five /b/five", "unlink /five", "sif /b/five uid 7"}, []string{"renamed /b/five from /five owner"},
		},
		"another type": {
			[]string{"rm /five", "mkdir /five"}, []string{"removed /five", "added /five"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := renamable(t)
			after := copyOf(t, before)
			debugfs(t, after, test.commands...)
			expectChanges(t, layersOf(t, before), layersOf(t, after), test.expected...)
		})
	}
}
