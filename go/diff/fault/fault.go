// Package fault has the errors that a person is told: what is wrong with an image, in words that hold nothing an image
// could play tricks with.
package fault

import (
	"errors"
	"fmt"
	"strconv"
)

// Code says which kind of trouble it is; host/disk/file-system-diff.ts knows them all.
type Code string

const (
	// BadRequest: what the caller asked for makes no sense.
	BadRequest Code = "bad-request"
	// BadImage: the layers do not make a disk.
	BadImage Code = "bad-image"
	// NoFileSystem: there is no ext4 on the disk, or more than one.
	NoFileSystem Code = "no-file-system"
	// Corrupt: the file system contradicts itself.
	Corrupt Code = "corrupt"
	// Unsupported: a feature that this program does not read.
	Unsupported Code = "unsupported"
	// Limit: going on would take more time or memory than was granted.
	Limit Code = "limit"
	// NotFound: no such file in the file system.
	NotFound Code = "not-found"
	// NotAFile: what is there has no content to read.
	NotAFile Code = "not-a-file"
	// Internal: an error in this program.
	Internal Code = "internal"
)

// Fault is an error with a kind.
type Fault struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Image is "before" or "after" where it is known which one is meant.
	Image string `json:"image,omitempty"`
}

func (f *Fault) Error() string { return f.Message }

// New makes a fault. Every name that comes from an image must go through Quote.
func New(code Code, format string, values ...any) error {
	return &Fault{Code: code, Message: fmt.Sprintf(format, values...)}
}

// Of says which image an error is about.
func Of(image string, err error) error {
	var found *Fault
	if errors.As(err, &found) && found.Image == "" {
		found.Image = image
	}
	return err
}

const shownBytes = 200

// Quote shows bytes of an image in printable ASCII, and not too many of them.
func Quote(name []byte) string {
	if len(name) > shownBytes {
		return strconv.QuoteToASCII(string(name[:shownBytes])) + "…"
	}
	return strconv.QuoteToASCII(string(name))
}
