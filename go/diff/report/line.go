package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"mayfly/diff/ext4"
	"mayfly/diff/tree"
)

// Name is bytes of an image: text where they are UTF-8, else {"base64": …}.
type Name []byte

// MarshalJSON implements json.Marshaler.
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.Valid(n) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(n)})
}

// Attribute is an extended attribute; JSON encodes its value in base64.
type Attribute struct {
	Name  Name   `json:"name"`
	Value []byte `json:"value"`
}

// File is the description of a file. Fields that do not apply to its type are null.
type File struct {
	Type   ext4.Type   `json:"type"`
	Size   *int64      `json:"size"`
	Mode   string      `json:"mode"`
	UID    uint32      `json:"uid"`
	GID    uint32      `json:"gid"`
	MTime  string      `json:"mtime"`
	Links  uint16      `json:"links"`
	Target *Name       `json:"target"`
	Device *[2]uint32  `json:"device"`
	XAttrs []Attribute `json:"xattrs"`
	// Digest is the SHA-256 of a file's content; null for other types, and beyond the hash limit.
	Digest *string `json:"digest"`
}

// Change is one line of the answer.
type Change struct {
	Line   string   `json:"line"`
	Change string   `json:"change"`
	Path   Name     `json:"path"`
	From   *Name    `json:"from"`
	What   []string `json:"what"`
	File
	// Before is the earlier state of a changed or renamed file, without a digest.
	Before *File `json:"before"`
}

func describe(fs *ext4.FS, number uint32) (*ext4.Inode, *File, error) {
	inode, err := fs.Inode(number)
	if err != nil {
		return nil, nil, err
	}
	file := &File{
		Type: inode.Type, Mode: fmt.Sprintf("%04o", inode.Mode), UID: inode.UID, GID: inode.GID, Links: inode.Links,
		MTime: inode.Modified.Format(time.RFC3339Nano), XAttrs: []Attribute{},
	}
	switch inode.Type {
	case ext4.File:
		file.Size = &inode.Size
	case ext4.Symlink:
		target, err := fs.Target(inode)
		if err != nil {
			return nil, nil, err
		}
		file.Target = (*Name)(&target)
	case ext4.CharDevice, ext4.BlockDevice:
		major, minor := inode.Numbers()
		file.Device = &[2]uint32{major, minor}
	}
	attributes, err := fs.Attributes(inode)
	for _, attribute := range attributes {
		file.XAttrs = append(file.XAttrs, Attribute{Name: attribute.Name, Value: attribute.Value})
	}
	return inode, file, err
}

type digestKey struct {
	fs    *ext4.FS
	inode uint32
}

// digest returns the digest of a file's content, unless it exceeds the remaining hash limit.
func (c *Comparison) digest(fs *ext4.FS, inode *ext4.Inode) (*string, error) {
	if inode.Type != ext4.File {
		return nil, nil
	}
	key := digestKey{fs, inode.Number}
	if known, has := c.digests[key]; has {
		return &known, nil
	}
	if inode.Size > c.hashable {
		return nil, nil
	}
	c.hashable -= inode.Size
	content, err := fs.Content(inode)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	if err := content.CopyTo(hash, 0, content.Size, c.meter.Charge); err != nil {
		return nil, err
	}
	text := hex.EncodeToString(hash.Sum(nil))
	if inode.Links > 1 {
		c.digests[key] = text
	}
	return &text, nil
}

// line returns the line of one difference. A missing node is Alone.
func (c *Comparison) line(kind string, before, after int32) (*Change, error) {
	of, index := c.After, after
	if after == tree.Alone {
		of, index = c.Before, before
	}
	inode, file, err := describe(of.FS, of.Node(index).Inode)
	if err != nil {
		return nil, err
	}
	if file.Digest, err = c.digest(of.FS, inode); err != nil {
		return nil, err
	}
	change := &Change{Line: "change", Change: kind, Path: of.Path(index), What: []string{}, File: *file}
	if kind == Changed || kind == Renamed {
		change.What = namesOf(c.After.Node(after).What)
		_, change.Before, err = describe(c.Before.FS, c.Before.Node(before).Inode)
	}
	if kind == Renamed {
		from := Name(c.Before.Path(before))
		change.From = &from
	}
	return change, err
}
