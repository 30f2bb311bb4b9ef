package files

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"strings"
)

func (a *archiver) fillUp(name string, size int64, cause error) error {
	clear(a.buffer)
	for left := size; left > 0; {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		n, err := a.tar.Write(a.buffer[:min(left, blockBytes)])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	if cause == io.EOF {
		return a.note("%s: file shrank by %d bytes; padding with zeros", name, size)
	}
	return a.note("%s: read error, %d bytes; padding with zeros: %s", name, size, cause)
}

// note adds a message for the extractor about incomplete entries: a PAX comment, which every tar ignores.
func (a *archiver) note(format string, values ...any) error {
	text := strings.ToValidUTF8(fmt.Sprintf(format, values...), "\ufffd")
	comment := map[string]string{"comment": notePrefix + strings.ReplaceAll(text, "\x00", "\ufffd")}
	return a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "note", PAXRecords: comment})
}

// notePrefix marks the archiver's notes among comments.
const notePrefix = "mayfly: "

// unreadError is the error of an existing file that cannot be opened.
type unreadError struct{ cause error }

// unread returns the error of an omitted entry, which gets a note unless it has vanished.
func unread(err error) error {
	if os.IsNotExist(err) {
		return err
	}
	return &unreadError{err}
}

func (e *unreadError) Error() string { return e.cause.Error() }
