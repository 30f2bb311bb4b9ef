package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"mayfly/diff/fault"
)

func TestNamesAreThoseOfOneDirectory(t *testing.T) {
	folder := sampleFolder(t)
	image := layersOf(t, newImage(t, 32*mebibyte, folder, "-t", "ext4"))
	for _, path := range []string{"/etc", "/many"} {
		entries, err := os.ReadDir(folder + path)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := ask(request{Mode: "names", After: image, Path: []byte(path), Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Split(strings.TrimSuffix(string(answer), "\x00"), "\x00")
		slices.Sort(names)
		var wanted []string
		for _, entry := range entries {
			wanted = append(wanted, entry.Name())
		}
		if !slices.Equal(names, wanted) {
			t.Errorf("%s has %q, and says %q", path, wanted, names)
		}
	}
	for path, code := range map[string]fault.Code{"/none": fault.NotFound, "/etc/hosts": fault.NotAFile, "/many": fault.Limit} {
		_, err := ask(request{Mode: "names", After: image, Path: []byte(path), Bytes: 10})
		var found *fault.Fault
		if !errors.As(err, &found) || found.Code != code {
			t.Errorf("%s: %v, not %s", path, err, code)
		}
	}
}
