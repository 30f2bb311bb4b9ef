package sshd

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAuthInfoIsNeverAPipeOrALink(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, folder, "/dev/zero", filepath.Join(folder, "missing")} {
		if text, err := readAuthInfo(path); err == nil {
			t.Errorf("%s: %q", path, text)
		}
	}
}
