package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// account is a user of the guest, as /etc/passwd and /etc/group have it: the C library's other sources of users would
// need cgo, and a chroot often has none.
type account struct {
	name   string
	uid    uint32
	gid    uint32
	groups []uint32
	home   string
	shell  string
}

const (
	userPath = "/usr/local/bin:/usr/bin:/bin:/usr/games"
	rootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// path is where programs are looked for when the request does not say, as in login(1).
func (a *account) path() string {
	if a.uid == 0 {
		return rootPath
	}
	return userPath
}

// findAccount reads the account of that name.
func findAccount(name string) (*account, error) {
	return findAccountBy(func(fields []string) bool { return fields[0] == name }, "named "+strconv.Quote(name))
}

// accountOf reads the account with that user id.
func accountOf(uid int) (*account, error) {
	text := strconv.Itoa(uid)
	return findAccountBy(func(fields []string) bool { return fields[2] == text }, "with the id "+text)
}

func findAccountBy(matches func(fields []string) bool, description string) (*account, error) {
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
			return nil, refused("command_refused", "/etc/passwd of the guest is broken at the user %s.", description)
		}
		a := &account{name: fields[0], uid: uint32(uid), gid: uint32(gid), home: fields[5], shell: fields[6]}
		if a.shell == "" {
			a.shell = "/bin/sh"
		}
		a.groups, err = groupsOf(a)
		return a, err
	}
	return nil, refused("command_refused", "The guest has no user %s.", description)
}

// groupsOf is what initgroups(3) would set: the groups that list the user, and its own.
func groupsOf(a *account) ([]uint32, error) {
	groups := []uint32{a.gid}
	lines, err := database("/etc/group", 4)
	if err != nil {
		return nil, err
	}
	for _, fields := range lines {
		if !slices.Contains(strings.Split(fields[3], ","), a.name) {
			continue
		}
		if gid, err := strconv.ParseUint(fields[2], 10, 32); err == nil && uint32(gid) != a.gid {
			groups = append(groups, uint32(gid))
		}
	}
	return groups, nil
}

// database reads a file of colon-separated lines; those with fewer fields are left out.
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
