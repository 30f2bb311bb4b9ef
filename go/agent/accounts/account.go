// Package accounts holds the users of the guest.
package accounts

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"mayfly/agent/answer"
)

// Account is a user of the guest from /etc/passwd and /etc/group. Other sources of the C library would need cgo,
// and a chroot often has none.
type Account struct {
	Name string
	UID  uint32
	GID  uint32
	// Groups are those of initgroups(3), GID included.
	Groups []uint32
	Home   string
	// Shell is /bin/sh where /etc/passwd names none.
	Shell string
}

const (
	userPath = "/usr/local/bin:/usr/bin:/bin:/usr/games"
	rootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Path returns the default PATH, as in login(1).
func (a *Account) Path() string {
	if a.UID == 0 {
		return rootPath
	}
	return userPath
}

// Named returns the account of a name.
func Named(name string) (*Account, error) {
	return find(func(fields []string) bool { return fields[0] == name }, "named "+strconv.Quote(name))
}

// WithID returns the account of a user id.
func WithID(uid int) (*Account, error) {
	text := strconv.Itoa(uid)
	return find(func(fields []string) bool { return fields[2] == text }, "with the id "+text)
}

func find(matches func(fields []string) bool, description string) (*Account, error) {
	lines, err := database("/etc/passwd", 7)
	if err != nil {
		return nil, err
	}
	for _, fields := range lines {
		if !matches(fields) {
			continue
		}
		uid, uidErr := strconv.ParseUint(fields[2], 10, 32)
		gid, gidErr := strconv.ParseUint(fields[3], 10, 32)
		if uidErr != nil || gidErr != nil {
			return nil, answer.Refused("command_refused", "/etc/passwd of the guest is broken at the user %s.", description)
		}
		a := &Account{Name: fields[0], UID: uint32(uid), GID: uint32(gid), Home: fields[5], Shell: fields[6]}
		if a.Shell == "" {
			a.Shell = "/bin/sh"
		}
		a.Groups, err = groupsOf(a)
		return a, err
	}
	return nil, answer.Refused("command_refused", "The guest has no user %s.", description)
}

// groupsOf returns the groups of initgroups(3): the account's own, and those that list it.
func groupsOf(a *Account) ([]uint32, error) {
	groups := []uint32{a.GID}
	lines, err := database("/etc/group", 4)
	if err != nil {
		return nil, err
	}
	for _, fields := range lines {
		if !slices.Contains(strings.Split(fields[3], ","), a.Name) {
			continue
		}
		if gid, err := strconv.ParseUint(fields[2], 10, 32); err == nil && uint32(gid) != a.GID {
			groups = append(groups, uint32(gid))
		}
	}
	return groups, nil
}

// database reads a file of colon-separated lines, and skips lines with fewer fields.
func database(path string, fields int) ([][]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines [][]string
	for line := range strings.Lines(string(content)) {
		if parts := strings.Split(strings.TrimRight(line, "\n"), ":"); len(parts) >= fields {
			lines = append(lines, parts)
		}
	}
	return lines, nil
}
