package files

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"unicode/utf8"
)

// entry describes a file from its metadata.
type entry struct {
	// Name is null unless it is UTF-8.
	Name       *string `json:"name"`
	NameBase64 string  `json:"nameBase64"`
	Type       string  `json:"type"`
	Size       int64   `json:"size"`
	// Mode is the twelve permission bits in octal.
	Mode string `json:"mode"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	// User and Group are null when the guest has no name for the id.
	User    *string `json:"user"`
	Group   *string `json:"group"`
	MtimeMs int64   `json:"mtimeMs"`
	// Target is the target of a symbolic link, base64.
	Target *string `json:"target,omitempty"`
}

// ownerNames caches names of users and groups.
type ownerNames struct{ users, groups map[uint32]*string }

func newOwnerNames() *ownerNames {
	return &ownerNames{users: map[uint32]*string{}, groups: map[uint32]*string{}}
}

func (a *ownerNames) user(id uint32) *string {
	return remembered(a.users, id, func(text string) (string, error) {
		found, err := user.LookupId(text)
		if err != nil {
			return "", err
		}
		return found.Username, nil
	})
}

func (a *ownerNames) group(id uint32) *string {
	return remembered(a.groups, id, func(text string) (string, error) {
		found, err := user.LookupGroupId(text)
		if err != nil {
			return "", err
		}
		return found.Name, nil
	})
}

func remembered(known map[uint32]*string, id uint32, lookUp func(string) (string, error)) *string {
	name, seen := known[id]
	if !seen {
		if found, err := lookUp(strconv.FormatUint(uint64(id), 10)); err == nil && utf8.ValidString(found) {
			name = &found
		}
		known[id] = name
	}
	return name
}

func entryOf(name, target string, info os.FileInfo, names *ownerNames) entry {
	stat := statOf(info)
	e := entry{
		NameBase64: base64.StdEncoding.EncodeToString([]byte(name)),
		Type:       typeOf(info.Mode()),
		Size:       info.Size(),
		Mode:       octal(info.Mode()),
		UID:        stat.Uid,
		GID:        stat.Gid,
		User:       names.user(stat.Uid),
		Group:      names.group(stat.Gid),
		MtimeMs:    info.ModTime().UnixMilli(),
	}
	if utf8.ValidString(name) {
		e.Name = &name
	}
	if info.Mode()&os.ModeSymlink != 0 {
		encoded := base64.StdEncoding.EncodeToString([]byte(target))
		e.Target = &encoded
	}
	return e
}

// describe sets the headers of a file, with the fields of entryOf.
func describe(header http.Header, info os.FileInfo) {
	stat := statOf(info)
	names := newOwnerNames()
	header.Set("X-Mayfly-Type", typeOf(info.Mode()))
	header.Set("X-Mayfly-Mode", octal(info.Mode()))
	header.Set("X-Mayfly-Uid", strconv.FormatUint(uint64(stat.Uid), 10))
	header.Set("X-Mayfly-Gid", strconv.FormatUint(uint64(stat.Gid), 10))
	if name := names.user(stat.Uid); name != nil {
		header.Set("X-Mayfly-User", percentEncoded(*name))
	}
	if name := names.group(stat.Gid); name != nil {
		header.Set("X-Mayfly-Group", percentEncoded(*name))
	}
	header.Set("Last-Modified", info.ModTime().UTC().Format(http.TimeFormat))
	if info.Mode().IsRegular() {
		header.Set("ETag", fmt.Sprintf(`"%x-%x-%x"`, stat.Ino, info.Size(), info.ModTime().UnixNano()))
		header.Set("Accept-Ranges", "bytes")
	}
}

func statOf(info os.FileInfo) *syscall.Stat_t {
	return info.Sys().(*syscall.Stat_t)
}

func octal(mode os.FileMode) string {
	return fmt.Sprintf("%04o", modeBits(mode))
}

func typeOf(mode os.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&os.ModeSymlink != 0:
		return "symlink"
	case mode&os.ModeNamedPipe != 0:
		return "fifo"
	case mode&os.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
