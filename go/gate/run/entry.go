package run

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"unicode/utf8"
)

// Entry describes a file without opening it, in the format of the sandbox's agent.
type Entry struct {
	Name       *string `json:"name"` // null when it is not UTF-8
	NameBase64 string  `json:"nameBase64"`
	Type       string  `json:"type"`
	Size       int64   `json:"size"`
	Mode       string  `json:"mode"` // the twelve permission bits in octal
	UID        uint32  `json:"uid"`
	GID        uint32  `json:"gid"`
	User       *string `json:"user"`
	Group      *string `json:"group"`
	MtimeMs    int64   `json:"mtimeMs"`
	Target     *string `json:"target,omitempty"` // base64 of where a symbolic link points
}

// accounts caches names of users (`u` and an id) and groups (`g` and an id); nil for ids without a name.
type accounts map[string]*string

func (a accounts) name(kind string, id uint32) *string {
	number := strconv.FormatUint(uint64(id), 10)
	if known, ok := a[kind+number]; ok {
		return known
	}
	var name *string
	if kind == "u" {
		if found, err := user.LookupId(number); err == nil {
			name = &found.Username
		}
	} else if found, err := user.LookupGroupId(number); err == nil {
		name = &found.Name
	}
	a[kind+number] = name
	return name
}

func entryOf(name string, info os.FileInfo, known accounts) *Entry {
	entry := &Entry{
		NameBase64: base64.StdEncoding.EncodeToString([]byte(name)),
		Type:       typeOf(info.Mode()), Size: info.Size(), MtimeMs: info.ModTime().UnixMilli(),
	}
	if utf8.ValidString(name) {
		entry.Name = &name
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		entry.Mode = fmt.Sprintf("%04o", stat.Mode&0o7777)
		entry.UID, entry.GID = stat.Uid, stat.Gid
		entry.User, entry.Group = known.name("u", stat.Uid), known.name("g", stat.Gid)
	}
	return entry
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
