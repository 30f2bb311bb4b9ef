package ext4

import (
	"encoding/binary"
	"errors"
)

const (
	storedListVersion  = 1 // fs/ext4/acl.h
	shownListVersion   = 2 // include/uapi/linux/posix_acl_xattr.h
	aclUser            = 0x02
	aclGroup           = 0x08
	nobodyInParticular = 0xffffffff
)

// accessList converts a list from ext4's format to that of getxattr(2).
func accessList(stored []byte) ([]byte, error) {
	if len(stored) < 4 || binary.LittleEndian.Uint32(stored) != storedListVersion {
		return nil, errors.New("is of an unknown version")
	}
	shown := binary.LittleEndian.AppendUint32(nil, shownListVersion)
	for rest := stored[4:]; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, errors.New("ends within an entry")
		}
		tag, length, id := binary.LittleEndian.Uint16(rest), 4, uint32(nobodyInParticular)
		if tag == aclUser || tag == aclGroup {
			length = 8
			if len(rest) < length {
				return nil, errors.New("ends within an entry")
			}
			id = binary.LittleEndian.Uint32(rest[4:])
		}
		shown = append(shown, rest[:4]...)
		shown = binary.LittleEndian.AppendUint32(shown, id)
		rest = rest[length:]
	}
	return shown, nil
}
