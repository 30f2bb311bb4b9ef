package files

import (
	"errors"
	"net/http"
	"os"
	"syscall"

	"mayfly/agent/answer"
)

// refusals maps errors of the system to codes and messages about the path.
var refusals = []struct {
	errno   syscall.Errno
	code    string
	meaning string
}{
	{syscall.ENOENT, "file_not_found", "does not exist"},
	{syscall.EISDIR, "file_conflict", "is a directory"},
	{syscall.ENOTDIR, "file_conflict", "is not a directory, or something on the way to it is not"},
	{syscall.ENOTEMPTY, "file_conflict", "is a directory that is not empty"},
	{syscall.EEXIST, "file_conflict", "exists already"},
	{syscall.ELOOP, "file_conflict", "is behind too many symbolic links"},
	{syscall.EBUSY, "file_conflict", "is in use: a mount point, perhaps"},
	{syscall.EXDEV, "file_conflict", "is on another file system, which is mounted there"},
	{syscall.ENXIO, "file_conflict", "is a device or socket without anybody behind it"},
	{syscall.EACCES, "file_forbidden", "may not be accessed"},
	{syscall.EPERM, "file_forbidden", "may not be changed: it is immutable, or its file system does not allow it"},
	{syscall.EROFS, "file_forbidden", "is on a read-only file system"},
	{syscall.ETXTBSY, "file_forbidden", "is a program that runs"},
	{syscall.ENOSPC, "guest_disk_full", "does not fit: the disk is full"},
	{syscall.EDQUOT, "guest_disk_full", "does not fit: the quota is used up"},
	{syscall.EFBIG, "guest_disk_full", "does not fit: its file system has no files as large"},
	{syscall.ENAMETOOLONG, "invalid_request", "has a name, or a path, that is too long for its file system"},
	{syscall.EINVAL, "invalid_request", "is nothing that this can be done to"},
}

// refusalOf returns the refusal for an error of the system on a path.
func refusalOf(path string, err error) error {
	var known *answer.Refusal
	if errors.As(err, &known) {
		return known
	}
	for _, entry := range refusals {
		if errors.Is(err, entry.errno) {
			return answer.Refused(entry.code, "%q %s.", path, entry.meaning)
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return answer.Refused("file_conflict", "%q has no content without waiting for it.", path)
	}
	return answer.Refused("internal", "%q: %s.", path, err)
}

// breakOff aborts a started response, so that clients do not take it for complete.
func breakOff() {
	panic(http.ErrAbortHandler)
}
