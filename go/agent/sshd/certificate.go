package sshd

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
)

// keyFields is the number of strings of a public key in a certificate (PROTOCOL.certkeys of OpenSSH).
var keyFields = map[string]int{"ssh-ed25519": 1, "ssh-rsa": 2, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp384": 2, "ecdsa-sha2-nistp521": 2}

var errNoCertificate = errors.New("not a certificate")

// serialOf parses the serial of a certificate blob: type, nonce, key, serial.
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

// cutString splits a string off a blob: a length in four bytes, then the bytes (RFC 4251 §5).
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
