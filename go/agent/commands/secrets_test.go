package commands

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mayfly/agent/accounts"
)

func TestNamesOfSecretFiles(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd", "-x", ".hidden", "a b", "a\n", "ä"} {
		if isSecretFile(name) {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", "tls.key", "DB_1", "0-x"} {
		if !isSecretFile(name) {
			t.Errorf("%q is refused", name)
		}
	}
}

func TestSecretsAreOnATmpfsThatGoes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root mounts")
	}
	secretsFolder = filepath.Join(t.TempDir(), "secrets")
	account := &accounts.Account{Name: "nobody", UID: 65534, GID: 65534}
	secrets := map[string]string{"tls.key": "one", "DB_1": "two"}
	for range 2 { // an attempt that was cut short is followed by another
		if err := placeSecrets(secrets, account); err != nil {
			t.Skipf("no mounts here: %v", err)
		}
	}
	path := filepath.Join(secretsFolder, "tls.key")
	about, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if about.Mode().Perm() != 0o400 || about.Sys().(*syscall.Stat_t).Uid != account.UID {
		t.Errorf("the file has mode %o and the owner %d", about.Mode().Perm(), about.Sys().(*syscall.Stat_t).Uid)
	}
	if content, _ := os.ReadFile(path); string(content) != "one" {
		t.Errorf("it holds %q", content)
	}
	var of syscall.Statfs_t
	if syscall.Statfs(secretsFolder, &of) != nil || of.Type != tmpfsMagic || !isMountPoint(secretsFolder) {
		t.Error("it is no tmpfs of its own")
	}
	if err := removeSecrets(secrets); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(secretsFolder); !os.IsNotExist(err) {
		t.Error("the folder stays")
	}
	if err := removeSecrets(secrets); err != nil {
		t.Errorf("once more: %v", err)
	}
}
