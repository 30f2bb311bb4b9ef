package sshd

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"mayfly/agent/processes"
)

// authInfo is the variable in which an sshd with ExposeAuthInfo names a file about the session's authentication
// (sshd_config(5), environment(7) in ssh(1)).
const authInfo = "SSH_USER_AUTH"

const maxAuthInfoBytes = 64 << 10

// sshdPrograms serve SSH connections; from OpenSSH 9.8 on the listener has another executable.
var sshdPrograms = map[string]bool{"sshd": true, "sshd-session": true}

// connectionsIn returns the processes that act for a logged-in user, one per SSH connection. Their parent, sshd's
// monitor, stays root.
func connectionsIn(t processes.Table) []processes.Process {
	var found []processes.Process
	for _, p := range t {
		monitor, known := t[p.Parent]
		if known && isSshd(p) && !hasRoot(p) && isSshd(monitor) && hasRoot(monitor) && !isBeforeLogin(p) {
			found = append(found, p)
		}
	}
	return found
}

func isSshd(p processes.Process) bool { return sshdPrograms[p.Program()] }

func hasRoot(p processes.Process) bool {
	uid, there := p.UID()
	return there && uid == 0
}

// isBeforeLogin reports whether p is sshd's unprivileged child of the phase before the login.
func isBeforeLogin(p processes.Process) bool {
	return strings.HasSuffix(p.Title(), "[net]")
}

// certificateOf returns the serial of the certificate of a connection, if one of its processes shows it.
func certificateOf(t processes.Table, connection processes.Process) (uint64, bool) {
	for _, p := range t {
		if !t.Descends(p, connection.PID) {
			continue
		}
		if serial, known := serialShownBy(p); known {
			return serial, true
		}
	}
	return 0, false
}

// partsOf returns all processes of a connection, including the monitor, without those of the agent.
func partsOf(t processes.Table, connection processes.Process) []processes.Process {
	parts := []processes.Process{connection, t[connection.Parent]}
	for _, p := range t {
		if t.Descends(p, connection.PID) && !isOurs(t, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// straysOf returns processes of sessions of revoked certificates that have left these sessions.
func straysOf(t processes.Table, revoked map[uint64]bool) []processes.Process {
	var found []processes.Process
	for _, p := range t {
		if serial, known := serialShownBy(p); known && revoked[serial] && !isOurs(t, p) {
			found = append(found, p)
		}
	}
	return found
}

func isOurs(t processes.Table, p processes.Process) bool {
	return t.Descends(p, os.Getpid())
}

func serialShownBy(p processes.Process) (uint64, bool) {
	path, set := p.Variable(authInfo)
	if !set {
		return 0, false
	}
	text, err := readAuthInfo(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(text) {
		// "publickey ssh-ed25519-cert-v01@openssh.com AAAA…"
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "publickey" {
			continue
		}
		if serial, err := serialOf(fields[2]); err == nil {
			return serial, true
		}
	}
	return 0, false
}

// readAuthInfo reads a file that a user may have put there: no blocking pipe, no link, bounded size.
func readAuthInfo(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil || !about.Mode().IsRegular() {
		return "", errors.Join(err, os.ErrInvalid)
	}
	buffer := make([]byte, maxAuthInfoBytes)
	n, err := file.Read(buffer)
	return string(buffer[:n]), err
}
