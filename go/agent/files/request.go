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

// pathOf returns the path that a request names: base64url of any bytes but NUL, absolute.
func pathOf(r *http.Request) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("path"))
	path := string(raw)
	if err != nil || !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", answer.Refused("invalid_request", "`path` must be the base64url of an absolute path without NUL.")
	}
	return path, nil
}

// closedOf describes the file whose content the request is not to have, by whatever name; nil when there is none.
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

// flagOf returns whether a query parameter is "true"; without one it is false.
func flagOf(query url.Values, name string) (bool, error) {
	switch query.Get(name) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, answer.Refused("invalid_request", "`%s` must be true or false.", name)
}

// modeOf returns the permission bits in a query parameter, nil when there is none.
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

// fileMode turns the twelve permission bits of chmod(2) into Go's.
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

// percentEncoded makes any bytes fit for a header: unreserved characters of RFC 3986 and "/" stay as they are.
func percentEncoded(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), "%2F", "/")
}
