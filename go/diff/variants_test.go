package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// Every mke2fs layout is readable, with the same changes in each.
func TestVariants(t *testing.T) {
	folder := sampleFolder(t)
	for name, options := range map[string][]string{
		"ext4":          nil,
		"ext3":          {"-t", "ext3"},
		"ext2":          {"-t", "ext2"},
		"blocks 1k":     {"-b", "1024"},
		"blocks 64k":    {"-b", "65536"},
		"blocks 2k":     {"-b", "2048", "-g", "8192"},
		"inodes 128":    {"-I", "128"},
		"inodes 1024":   {"-I", "1024"},
		"inline":        {"-O", "inline_data"},
		"bigalloc":      {"-O", "bigalloc", "-C", "16384", "-b", "1024"},
		"meta_bg":       {"-O", "meta_bg,^resize_inode", "-b", "1024", "-g", "1024"},
		"32 bit":        {"-O", "^64bit"},
		"no checksums":  {"-O", "^metadata_csum"},
		"sparse_super2": {"-O", "sparse_super2,^resize_inode"},
		"ea_inode":      {"-O", "ea_inode"},
		"casefold":      {"-O", "casefold"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(options) == 0 || options[0] != "-t" {
				options = append([]string{"-t", "ext4"}, options...)
			}
			before := newImage(t, 64*mebibyte, folder, options...)
			after := copyOf(t, before)
			other := write(t, t.TempDir()+"/other", strings.Repeat("other", 50_000))
			debugfs(t, after, "rm /large", "write "+other+" /large", "write "+other+" /etc/new",
				"rm /many/a-rather-long-name-to-fill-blocks-7", "sif /small mode 0100600", "sif /medium uid 70000",
				"ea_set /etc/hosts user.note "+strings.Repeat("v", 40), "sif /etc/empty mtime 20200101000000")
			expectChanges(t, layersOf(t, before), layersOf(t, before))
			expectChanges(t, layersOf(t, before), layersOf(t, after),
				"changed /large content,mtime", "added /etc/new", "removed /many/a-rather-long-name-to-fill-blocks-7",
				"changed /small mode", "changed /medium owner", "changed /etc/hosts xattrs", "changed /etc/empty mtime")
		})
	}
}

func TestDigestIsOfTheContent(t *testing.T) {
	folder := sampleFolder(t)
	before, after := newImage(t, 32*mebibyte, "", "-t", "ext4"), newImage(t, 32*mebibyte, folder, "-t", "ext4", "-O", "inline_data")
	digests := map[string]string{}
	for _, one := range changes(t, layersOf(t, before), layersOf(t, after)) {
		if one.Digest != nil {
			digests[name(one.Path)] = *one.Digest
		}
	}
	for _, path := range []string{"/etc/hosts", "/etc/empty", "/small", "/medium", "/large"} {
		content, err := os.ReadFile(folder + path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if digests[path] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has the digest %s", path, digests[path])
		}
		if size, read := contentOf(t, layersOf(t, after), path, 1<<20); read != string(content) || size != len(content) {
			t.Errorf("%s has %d bytes of content and says %d, not %d", path, len(read), size, len(content))
		}
	}
	if size, read := contentOf(t, layersOf(t, after), "/large", 100); size <= 100 || len(read) != 100 {
		t.Errorf("100 of %d bytes are %d", size, len(read))
	}
}
