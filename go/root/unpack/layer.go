package unpack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// layer is an archive that is being unpacked.
type layer struct {
	root *Root
	// hasWhiteouts is true when names that begin with .wh. remove files of earlier layers.
	hasWhiteouts bool
	// made are the paths that this layer has created; nil for the first layer.
	made    map[string]bool
	folders []folderTime
}

// Layer unpacks an archive, gzipped or not. With a digest it is a layer of an image: its whiteouts apply, and its
// uncompressed content must match the digest (sha256:…).
func (r *Root) Layer(archive io.Reader, digest string) error {
	plain, err := uncompressed(archive)
	if err != nil {
		return err
	}
	hash := sha256.New()
	reader := io.TeeReader(plain, hash)
	l := &layer{root: r, hasWhiteouts: digest != ""}
	if r.layers > 0 {
		l.made = map[string]bool{}
	}
	r.layers++
	if err := r.Within(func() error { return l.read(reader) }); err != nil {
		return err
	}
	// Bytes behind the archive's end belong to the digest.
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return err
	}
	said := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	if digest != "" && said != digest {
		return fmt.Errorf("layer %d is %s, not %s as its image says", r.layers, said, digest)
	}
	return nil
}

func uncompressed(archive io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(archive, 1<<16)
	head, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, errors.New("it is compressed with zstd, which is not read: unpack it first, or use gzip")
	}
	return buffered, nil
}

func (l *layer) read(from io.Reader) error {
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return l.finish()
		}
		if err != nil {
			return fmt.Errorf("it is no tar archive, or cut off: %w", err)
		}
		l.root.entries++
		if l.root.entries > mostEntries {
			return fmt.Errorf("there are more than %d entries", mostEntries)
		}
		if err := l.take(header, archive); err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
	}
}

// finish sets the times of folders, which each added file changes.
func (l *layer) finish() error {
	for _, folder := range l.folders {
		info, err := os.Lstat(folder.path)
		if err != nil || !info.IsDir() {
			continue // a later entry has taken its place
		}
		if err := os.Chtimes(folder.path, folder.time, folder.time); err != nil {
			return err
		}
	}
	return nil
}
