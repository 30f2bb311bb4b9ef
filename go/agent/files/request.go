package files

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"mayfly/agent/answer"
)

// pathOf returns the path of a request: base64url, absolute, without NUL.
func pathOf(r *http.Request) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("path"))
	path := string(raw)
	if err != nil || !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", answer.Refused("invalid_request", "`path` must be the base64url of an absolute path without NUL.")
	}
	return path, nil
}

// closedOf returns the file whose content the request must not read, under any name; nil for none.
func closedOf(r *http.Request) (os.FileInfo, error) {
	raw, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("closed"))
	if err != nil {
		return nil, answer.Refused("invalid_request", "`closed` must be the base64url of a path.")
	}
	if len(raw) == 0 {
		return nil, nil
	}
	info, err := os.Stat(string(raw))
	if err != nil {
		return nil, nil // nothing is there to close
	}
	return info, nil
}

func isClosed(closed, info os.FileInfo) bool { return closed != nil && os.SameFile(closed, info) }

// flagOf parses a boolean query parameter; false when absent.
func flagOf(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, answer.Refused("invalid_request", "`%s` must be true or false.", name)
}

// modeOf parses permission bits of the query; nil when absent.
func modeOf(query url.Values) (*uint32, error) {
	text := query.Get("mode")
	if text == "" {
		return nil, nil
	}
	bits, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return nil, answer.Refused("invalid_request", "`mode` must be permission bits in octal, such as 0644.")
	}
	mode := uint32(bits)
	return &mode, nil
}

// fileMode converts the twelve permission bits of chmod(2) to Go's.
func fileMode(bits uint32) os.FileMode {
	mode := os.FileMode(bits & 0o777)
	for bit, flag := range specialBits {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// modeBits is the reverse of fileMode.
func modeBits(mode os.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for bit, flag := range specialBits {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

// specialBits are set-user-id, set-group-id and sticky, as inode(7) has them.
var specialBits = map[uint32]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// percentEncoded encodes any bytes for a header, except unreserved characters of RFC 3986 and "/".
func percentEncoded(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), "%2F", "/")
}
