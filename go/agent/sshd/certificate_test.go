package sshd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func keygen(t *testing.T, arguments ...string) {
	t.Helper()
	if said, err := exec.Command("ssh-keygen", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, said)
	}
}

func TestSerialOfEveryKindOfCertificate(t *testing.T) {
	folder := t.TempDir()
	ca := filepath.Join(folder, "ca")
	keygen(t, "-q", "-t", "ed25519", "-N", "", "-f", ca)
	for _, kind := range [][]string{{"ed25519"}, {"rsa", "-b", "2048"}, {"ecdsa", "-b", "256"}, {"ecdsa", "-b", "384"}, {"ecdsa", "-b", "521"}} {
		path := filepath.Join(folder, strings.Join(kind, ""))
		keygen(t, append([]string{"-q", "-N", "", "-f", path, "-t"}, kind...)...)
		keygen(t, "-q", "-s", ca, "-I", "x", "-n", "y", "-z", "18446744073709551615", path+".pub")
		line, _ := os.ReadFile(path + "-cert.pub")
		serial, err := serialOf(strings.Fields(string(line))[1])
		if err != nil || serial != 18446744073709551615 {
			t.Error(kind, serial, err)
		}
		plain, _ := os.ReadFile(path + ".pub")
		if _, err := serialOf(strings.Fields(string(plain))[1]); err == nil {
			t.Error(kind, "a plain key has no serial")
		}
	}
	for _, text := range []string{"", "AAAA", "/////w==", "not base64", strings.Repeat("A", 1000)} {
		if _, err := serialOf(text); err == nil {
			t.Error(text)
		}
	}
}

func FuzzSerialOf(f *testing.F) {
	f.Add("AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = serialOf(text) })
}
