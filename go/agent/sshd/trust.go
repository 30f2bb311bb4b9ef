// Package sshd sets the trust of the guest's sshd, and ends sessions whose certificates are revoked.
package sshd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mayfly/agent/answer"
)

// maxTrustBytes limits a request: a revocation list of 10,000 certificates has 3 MiB.
const maxTrustBytes = 8 << 20

// krlMagic is the magic of key revocation lists (PROTOCOL.krl of OpenSSH).
var krlMagic = []byte("SSHKRL\n\x00")

// publicKeyLine is one OpenSSH public key without options or comment.
var publicKeyLine = regexp.MustCompile(`^[a-z0-9@.-]{1,64} [A-Za-z0-9+/]+={0,2}$`)

// trustFiles are the files that an sshd reads at every login.
type trustFiles struct {
	userCa, revokedKeys string
}

// knownTrustFiles are those of the golden image, and of a cloud image that Mayfly has seeded.
var knownTrustFiles = []trustFiles{
	{"/etc/ssh/mayfly_user_ca.pub", "/etc/ssh/mayfly_revoked_keys"},
	{"/etc/ssh/mayfly/user_ca.pub", "/etc/ssh/mayfly/revoked_keys"},
}

// trust is the configuration of the guest's sshd.
type trust struct {
	UserCaKeys []string `json:"userCaKeys"`
	// RevokedKeys is a key revocation list, or empty.
	RevokedKeys []byte `json:"revokedKeys"`
}

// Register adds PUT /v1/trust and POST /v1/sessions/end.
func Register(mux *http.ServeMux) {
	registerTrust(mux)
	registerSessions(mux)
}

// registerTrust adds PUT /v1/trust.
func registerTrust(mux *http.ServeMux) {
	mux.HandleFunc("PUT /v1/trust", func(w http.ResponseWriter, r *http.Request) {
		wanted, err := readTrust(r.Body)
		if err == nil {
			err = wanted.write(knownTrustFiles)
		}
		if err != nil {
			answer.Error(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func readTrust(body io.Reader) (*trust, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxTrustBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTrustBytes {
		return nil, answer.Refused("body_too_large", "What is to be trusted has more than %d bytes.", maxTrustBytes)
	}
	wanted := new(trust)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var damaged base64.CorruptInputError
	if err := decoder.Decode(wanted); errors.As(err, &damaged) {
		return nil, answer.Refused("invalid_request", "revokedKeys is not base64.")
	} else if err != nil {
		return nil, answer.Refused("invalid_request", "What is to be trusted is not the JSON that it should be: %s", err)
	}
	return wanted, wanted.check()
}

// check refuses trust that would lock everyone out, including Mayfly.
func (t *trust) check() error {
	if len(t.UserCaKeys) == 0 {
		return answer.Refused("invalid_request", "userCaKeys is empty: nobody could log in any more.")
	}
	for _, key := range t.UserCaKeys {
		if !publicKeyLine.MatchString(key) {
			return answer.Refused("invalid_request", "userCaKeys has something that is not one public key line.")
		}
	}
	if len(t.RevokedKeys) > 0 && !bytes.HasPrefix(t.RevokedKeys, krlMagic) {
		return answer.Refused("invalid_request", "revokedKeys is not a key revocation list.")
	}
	return nil
}

// write replaces the files of every sshd of Mayfly in the guest.
func (t *trust) write(known []trustFiles) error {
	found := false
	for _, files := range known {
		if _, err := os.Stat(files.userCa); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		found = true
		// Revocations first: a new CA must never apply without them.
		if err := replaceFile(files.revokedKeys, t.RevokedKeys); err != nil {
			return err
		}
		if err := replaceFile(files.userCa, []byte(strings.Join(t.UserCaKeys, "\n")+"\n")); err != nil {
			return err
		}
	}
	if !found {
		return answer.Refused("internal", "No sshd of this guest reads its user CA from a file of ours.")
	}
	return nil
}

// replaceFile replaces a file atomically; an sshd that cannot read it refuses all logins.
func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".mayfly-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
