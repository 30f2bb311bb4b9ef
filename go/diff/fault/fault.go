// Package fault has the errors for users. Their messages quote image data safely.
package fault

import (
	"errors"
	"fmt"
	"strconv"
)

// Code is the kind of a fault; host/disk/file-system-diff.ts lists them all.
type Code string

const (
	// BadRequest is an invalid request.
	BadRequest Code = "bad-request"
	// BadImage is an invalid chain of layers.
	BadImage Code = "bad-image"
	// NoFileSystem is a disk without ext4, or with several.
	NoFileSystem Code = "no-file-system"
	// Corrupt is an inconsistent file system.
	Corrupt Code = "corrupt"
	// Unsupported is a feature that this program cannot read.
	Unsupported Code = "unsupported"
	// Limit is an excess of the time or memory limit.
	Limit Code = "limit"
	// NotFound is a missing file.
	NotFound Code = "not-found"
	// NotAFile is a path without readable content.
	NotAFile Code = "not-a-file"
	// Internal is an error in this program.
	Internal Code = "internal"
)

// Fault is an error with a code.
type Fault struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Image is "before" or "after", if known.
	Image string `json:"image,omitempty"`
}

func (f *Fault) Error() string { return f.Message }

// New returns a fault. Every name from an image must go through Quote.
func New(code Code, format string, values ...any) error {
	return &Fault{Code: code, Message: fmt.Sprintf(format, values...)}
}

// Of sets the image of an error.
func Of(image string, err error) error {
	var found *Fault
	if errors.As(err, &found) && found.Image == "" {
		found.Image = image
	}
	return err
}

const shownBytes = 200

// Quote returns image bytes in printable ASCII, of limited length.
func Quote(name []byte) string {
	if len(name) > shownBytes {
		return strconv.QuoteToASCII(string(name[:shownBytes])) + "…"
	}
	return strconv.QuoteToASCII(string(name))
}
