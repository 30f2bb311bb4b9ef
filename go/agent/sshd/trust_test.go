package sshd

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const someKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6TnyU4UCk7WdHhBGZDhtMSUfa4Rs1gqkVMyB0cC1Lh"

func put(t *testing.T, body string) (int, string) {
	t.Helper()
	mux := http.NewServeMux()
	registerTrust(mux)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("PUT", "/v1/trust", strings.NewReader(body)))
	return answer.Code, answer.Body.String()
}

func seeded(t *testing.T) []trustFiles {
	t.Helper()
	folder := t.TempDir()
	files := trustFiles{filepath.Join(folder, "user_ca.pub"), filepath.Join(folder, "revoked_keys")}
	for _, path := range []string{files.userCa, files.revokedKeys} {
		if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := knownTrustFiles
	knownTrustFiles = []trustFiles{{filepath.Join(folder, "not", "there"), "nor this"}, files}
	t.Cleanup(func() { knownTrustFiles = before })
	return []trustFiles{files}
}

func TestTrustReplacesWhatIsThereAndNothingElse(t *testing.T) {
	files := seeded(t)[0]
	list := append(append([]byte{}, krlMagic...), "anything"...)
	body, _ := json.Marshal(map[string]any{
		"userCaKeys":  []string{someKey, someKey},
		"revokedKeys": base64.StdEncoding.EncodeToString(list),
	})
	if status, text := put(t, string(body)); status != 204 {
		t.Fatal(status, text)
	}
	ca, _ := os.ReadFile(files.userCa)
	revoked, _ := os.ReadFile(files.revokedKeys)
	if string(ca) != someKey+"\n"+someKey+"\n" || string(revoked) != string(list) {
		t.Fatalf("%q %q", ca, revoked)
	}
	about, _ := os.Stat(files.revokedKeys)
	if about.Mode().Perm() != 0o644 {
		t.Fatal(about.Mode())
	}
	left, _ := os.ReadDir(filepath.Dir(files.userCa))
	if len(left) != 2 {
		t.Fatal(left)
	}
}

func TestTrustRefusesWhatWouldLockEverybodyOut(t *testing.T) {
	files := seeded(t)[0]
	for _, body := range []string{
		`{"userCaKeys":[],"revokedKeys":""}`,
		`{}`,
		`{"userCaKeys":["` + someKey + `\nssh-ed25519 AAAA"],"revokedKeys":""}`,
		`{"userCaKeys":["cert-authority ` + someKey + `"],"revokedKeys":""}`,
		`{"userCaKeys":["` + someKey + `"],"revokedKeys":"AAAA"}`,
		`{"userCaKeys":["` + someKey + `"],"revokedKeys":"not base64"}`,
		`{"userCaKeys":["` + someKey + `"],"revokedKeys":"","more":1}`,
		`not JSON`,
	} {
		if status, text := put(t, body); status != 422 {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if ca, _ := os.ReadFile(files.userCa); string(ca) != "old" {
		t.Fatalf("%q", ca)
	}
}

func TestTrustSaysWhenNothingReadsIt(t *testing.T) {
	before := knownTrustFiles
	defer func() { knownTrustFiles = before }()
	knownTrustFiles = []trustFiles{{"/nowhere/ca", "/nowhere/revoked"}}
	if status, text := put(t, `{"userCaKeys":["`+someKey+`"],"revokedKeys":""}`); status != 500 || !strings.Contains(text, "No sshd") {
		t.Fatal(status, text)
	}
}
