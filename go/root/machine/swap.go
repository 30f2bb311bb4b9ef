package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// stays are the kernel's file systems and run-time data; the new root has a folder for each.
var stays = map[string]bool{"dev": true, "proc": true, "sys": true, "run": true, "lost+found": true}

// state is the agent's folder with output of commands, including this one.
const state = "/var/lib/mayfly"

// socket is the agent's socket, for the login user's group, whose id differs in the new root.
const socket = "/run/mayfly/agent.sock"

// Swap replaces the root by place/new, entry by entry, and removes the old files. Running processes keep their open
// files.
func Swap(place string) error {
	if err := unmountOthers(); err != nil {
		return err
	}
	if err := os.Mkdir(place+"/old", 0o700); err != nil {
		return err
	}
	if err := keepState(place); err != nil {
		return err
	}
	// Logins before and after have different groups. A build's sandbox has no other users, and boots next.
	if err := os.Chmod(socket, 0o666); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := moveAll("/", place+"/old", filepath.Base(place)); err != nil {
		return err
	}
	if err := moveAll(place+"/new", "/", ""); err != nil {
		return err
	}
	if err := os.Rename(place+"/old"+state, state); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	syscall.Sync()
	return nil
}

// keepState clears the archive's files at the agent's state folder.
func keepState(place string) error {
	at := place + "/new" + state
	info, err := os.Lstat(filepath.Dir(at))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", filepath.Dir(state))
	}
	return os.RemoveAll(at)
}

func moveAll(from, to, except string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if stays[name] || name == except {
			continue
		}
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// unmountOthers unmounts everything below the root's own folders: a simulated sandbox has its host's /usr there.
func unmountOthers() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for n := len(lines) - 1; n >= 0; n-- {
		parts := strings.Fields(lines[n])
		if len(parts) < 5 || parts[4] == "/" || stays[strings.SplitN(parts[4], "/", 3)[1]] {
			continue
		}
		if err := syscall.Unmount(parts[4], syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("%s stays mounted: %w", parts[4], err)
		}
	}
	return nil
}
