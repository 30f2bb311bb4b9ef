package main

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
)

// authInfo is the variable with which an sshd that has ExposeAuthInfo names the file that says how a session was
// authenticated (sshd_config(5), environment(7) in ssh(1)).
const authInfo = "SSH_USER_AUTH"

const maxAuthInfoBytes = 64 << 10

// sshdPrograms run SSH connections; from OpenSSH 9.8 on the listener has a file of its own.
var sshdPrograms = map[string]bool{"sshd": true, "sshd-session": true}

// connections are the processes that act for a logged in user, one for each SSH connection. sshd's monitor, their
// parent, stays root.
func (t processTable) connections() []process {
	var found []process
	for _, p := range t {
		monitor, known := t[p.parent]
		if known && isSshd(p) && !hasRoot(p) && isSshd(monitor) && hasRoot(monitor) && !isBeforeLogin(p) {
			found = append(found, p)
		}
	}
	return found
}

func isSshd(p process) bool { return sshdPrograms[p.program()] }

func hasRoot(p process) bool {
	uid, there := p.uid()
	return there && uid == 0
}

// isBeforeLogin tells sshd's unprivileged child for what comes before a login from the one after it.
func isBeforeLogin(p process) bool {
	title, _ := os.ReadFile(p.folder() + "/cmdline")
	return strings.HasSuffix(strings.TrimRight(string(title), "\x00 "), "[net]")
}

// certificateOf tells the serial of the certificate that opened a connection, when a process of it shows it.
func (t processTable) certificateOf(connection process) (uint64, bool) {
	for _, p := range t {
		if !t.descends(p, connection.pid) {
			continue
		}
		if serial, known := serialShownBy(p); known {
			return serial, true
		}
	}
	return 0, false
}

// partsOf are all processes of a connection, the monitor too, and not what we run.
func (t processTable) partsOf(connection process) []process {
	parts := []process{connection, t[connection.parent]}
	for _, p := range t {
		if t.descends(p, connection.pid) && !t.isOurs(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// strays were started in sessions of revoked certificates and have left them.
func (t processTable) strays(revoked map[uint64]bool) []process {
	var found []process
	for _, p := range t {
		if serial, known := serialShownBy(p); known && revoked[serial] && !t.isOurs(p) {
			found = append(found, p)
		}
	}
	return found
}

func (t processTable) isOurs(p process) bool {
	return t.descends(p, os.Getpid())
}

func serialShownBy(p process) (uint64, bool) {
	path, set := p.variable(authInfo)
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

// readAuthInfo reads a file that a user may have put there: no pipe that blocks, no link, no more than it should have.
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

// keyFields is how many strings make up a public key inside a certificate (PROTOCOL.certkeys of OpenSSH).
var keyFields = map[string]int{"ssh-ed25519": 1, "ssh-rsa": 2, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp384": 2, "ecdsa-sha2-nistp521": 2}

var errNoCertificate = errors.New("not a certificate")

// serialOf reads the serial of a certificate blob: type, nonce, key, serial.
func serialOf(text string) (uint64, error) {
	blob, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0, err
	}
	kind, rest, err := cutString(blob)
	if err != nil {
		return 0, err
	}
	plain, isCertificate := strings.CutSuffix(string(kind), "-cert-v01@openssh.com")
	fields, known := keyFields[plain]
	if !isCertificate || !known {
		return 0, errNoCertificate
	}
	for range 1 + fields {
		if _, rest, err = cutString(rest); err != nil {
			return 0, err
		}
	}
	if len(rest) < 8 {
		return 0, errNoCertificate
	}
	return binary.BigEndian.Uint64(rest), nil
}

// cutString takes a string off a blob: its length in four bytes, then its bytes (RFC 4251 §5).
func cutString(blob []byte) (first, rest []byte, err error) {
	if len(blob) < 4 {
		return nil, nil, errNoCertificate
	}
	length := uint64(binary.BigEndian.Uint32(blob))
	if length > uint64(len(blob)-4) {
		return nil, nil, errNoCertificate
	}
	return blob[4 : 4+length], blob[4+length:], nil
}
