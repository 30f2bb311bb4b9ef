package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"mayfly/agent/accounts"
	"mayfly/agent/answer"
)

// secretsFolder is SECRETS_FOLDER of model/functions/guest-layout.ts.
var secretsFolder = "/run/mayfly-secrets"

const (
	// tmpfsMagic is TMPFS_MAGIC of linux/magic.h.
	tmpfsMagic = 0x01021994
	// secretsBytes fits the secrets of a process, each file in pages of its own.
	secretsBytes = "4m"
)

// placeSecrets mounts a tmpfs with a file for each secret, readable only by the user, and replaces that of an
// earlier attempt. It needs root.
func placeSecrets(secrets map[string]string, a *accounts.Account) error {
	for name := range secrets {
		if !isSecretFile(name) {
			return answer.Refused("invalid_request", "%q cannot be the name of a file of a secret.", name)
		}
	}
	if err := removeSecrets(secrets); err != nil {
		return secretsError(err)
	}
	if err := os.Mkdir(secretsFolder, 0o700); err != nil {
		return secretsError(err)
	}
	if err := mountSecrets(a); err != nil {
		_ = os.Remove(secretsFolder)
		return secretsError(err)
	}
	for name, value := range secrets {
		if err := writeSecret(name, value, a); err != nil {
			_ = removeSecrets(secrets)
			return secretsError(err)
		}
	}
	return nil
}

// mountSecrets mounts a tmpfs, excluded from swap where the kernel supports that (since 6.4).
func mountSecrets(a *accounts.Account) error {
	options := fmt.Sprintf("size=%s,mode=0500,uid=%d,gid=%d", secretsBytes, a.UID, a.GID)
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if syscall.Mount("tmpfs", secretsFolder, "tmpfs", flags, options+",noswap") == nil {
		return nil
	}
	return syscall.Mount("tmpfs", secretsFolder, "tmpfs", flags, options)
}

func writeSecret(name, value string, a *accounts.Account) error {
	file, err := os.OpenFile(filepath.Join(secretsFolder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Chown(int(a.UID), int(a.GID)), file.Close())
}

// removeSecrets overwrites the files before it frees their pages: a snapshot of the memory includes free pages.
func removeSecrets(secrets map[string]string) error {
	var about syscall.Statfs_t
	if syscall.Statfs(secretsFolder, &about) == nil && about.Type == tmpfsMagic && isMountPoint(secretsFolder) {
		for name, value := range secrets {
			if file, err := os.OpenFile(filepath.Join(secretsFolder, name), os.O_WRONLY|syscall.O_NOFOLLOW, 0); err == nil {
				_, _ = file.Write(make([]byte, len(value)))
				_ = file.Close()
			}
		}
		if err := syscall.Unmount(secretsFolder, syscall.MNT_DETACH); err != nil {
			return err
		}
	}
	if err := os.Remove(secretsFolder); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// isMountPoint reports whether a folder is the root of a file system, and not merely on a tmpfs, as /run may be.
func isMountPoint(path string) bool {
	var own, above syscall.Stat_t
	return syscall.Lstat(path, &own) == nil && syscall.Lstat(filepath.Dir(path), &above) == nil && own.Dev != above.Dev
}

func secretsError(err error) error {
	return answer.Refused("command_refused", "Files of secrets cannot be put into %s: %s.", secretsFolder, reasonOf(err))
}

func isSecretFile(name string) bool {
	for i := range len(name) {
		c := name[i]
		isWord := c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z') || (c >= '0' && c <= '9')
		if !isWord && (i == 0 || (c != '.' && c != '-')) {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
