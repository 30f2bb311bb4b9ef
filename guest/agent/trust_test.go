package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

func TestASignalReachesOnlyThatProcess(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p, _ := processOf(child.Process.Pid)
	other := p
	other.born += "0"
	if other.signal(0) || !p.signal(0) {
		t.Fatal("told apart by the start time")
	}
	endProcesses([]process{p})
	if err := child.Wait(); err == nil {
		t.Fatal("still alive")
	}
}
