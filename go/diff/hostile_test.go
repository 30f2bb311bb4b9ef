package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/diff/fault"
)

// patched returns a copy of an image with changed bytes in the superblock, and a stale checksum.
func patched(t *testing.T, path string, change func(superblock []byte)) image {
	t.Helper()
	content := read(t, path)
	change(content[1024:2048])
	return layersOf(t, write(t, t.TempDir()+"/patched", string(content)))
}

func TestBrokenSuperblocks(t *testing.T) {
	good := newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4", "-O", "^metadata_csum")
	u16, u32 := binary.LittleEndian.PutUint16, binary.LittleEndian.PutUint32
	for name, test := range map[string]struct {
		code   fault.Code
		change func([]byte)
	}{
		"no mark":                  {fault.NoFileSystem, func(sb []byte) { u16(sb[0x38:], 0) }},
		"more blocks than disk":    {fault.Corrupt, func(sb []byte) { u32(sb[4:], 1<<30) }},
		"no blocks":                {fault.Corrupt, func(sb []byte) { u32(sb[4:], 0) }},
		"2^63 blocks":              {fault.Corrupt, func(sb []byte) { u32(sb[0x150:], 1<<31) }},
		"huge blocks":              {fault.Corrupt, func(sb []byte) { u32(sb[0x18:], 60) }},
		"no blocks in a group":     {fault.Corrupt, func(sb []byte) { u32(sb[0x20:], 0) }},
		"no inodes in a group":     {fault.Corrupt, func(sb []byte) { u32(sb[0x28:], 0) }},
		"no inodes":                {fault.Corrupt, func(sb []byte) { u32(sb[0:], 0) }},
		"too many inodes":          {fault.Corrupt, func(sb []byte) { u32(sb[0:], 1<<31) }},
		"inodes of no bytes":       {fault.Corrupt, func(sb []byte) { u16(sb[0x58:], 0) }},
		"inodes of odd size":       {fault.Corrupt, func(sb []byte) { u16(sb[0x58:], 200) }},
		"inodes larger than block": {fault.Corrupt, func(sb []byte) { u16(sb[0x58:], 1<<15) }},
		"descriptors of no bytes":  {fault.Corrupt, func(sb []byte) { u16(sb[0xfe:], 0) }},
		"first data block far off": {fault.Corrupt, func(sb []byte) { u32(sb[0x14:], 1<<31) }},
		"encryption":               {fault.Unsupported, func(sb []byte) { sb[0x62] |= 1 }},
		"unknown feature":          {fault.Unsupported, func(sb []byte) { sb[0x63] |= 0x80 }},
		"wrong checksum":           {fault.Corrupt, func(sb []byte) { sb[0x65] |= 4 }},
		"all ones":                 {fault.NoFileSystem, func(sb []byte) { copy(sb, bytes.Repeat([]byte{0xff}, 1024)) }},
	} {
		t.Run(name, func(t *testing.T) {
			expectFault(t, test.code, layersOf(t, good), patched(t, good, test.change))
		})
	}
}

// forged creates a directory with the given blocks: debugfs writes them as a file, and turns it into a directory.
func forged(t *testing.T, blocks []byte) image {
	t.Helper()
	path := newImage(t, int64(len(blocks))*2+32*mebibyte, "", "-t", "ext4", "-O", "^metadata_csum")
	file := write(t, t.TempDir()+"/file", "f")
	debugfs(t, path, "write "+file+" /file", "write "+write(t, t.TempDir()+"/blocks", string(blocks))+" /forged",
		"sif /forged mode 040755")
	return layersOf(t, path)
}

// fileNumber is the inode of /file in a forged image.
const fileNumber = 12

type forgedEntry struct {
	inode  uint32
	length int
	name   string
}

func entries(list ...forgedEntry) []byte {
	block := make([]byte, 0, 4096)
	for index, one := range list {
		length := one.length
		if length == 0 {
			length = 8 + (len(one.name)+3)&^3
			if index == len(list)-1 {
				length = 4096 - len(block)
			}
		}
		entry := make([]byte, max(8+len(one.name), min(length, 4096-len(block))))
		binary.LittleEndian.PutUint32(entry, one.inode)
		binary.LittleEndian.PutUint16(entry[4:], uint16(length))
		entry[6] = byte(len(one.name))
		copy(entry[8:], one.name)
		block = append(block, entry...)
	}
	return append(block, make([]byte, max(0, 4096-len(block)))...)[:4096]
}

func TestForgedDirectories(t *testing.T) {
	empty := layersOf(t, newImage(t, 16*mebibyte, "", "-t", "ext4"))
	for name, list := range map[string][]forgedEntry{
		"a slash":                   {{inode: fileNumber, name: "../../etc/passwd"}},
		"a NUL":                     {{inode: fileNumber, name: "a\x00b"}},
		"no name":                   {{inode: fileNumber, name: ""}},
		"the same name twice":       {{inode: fileNumber, name: "x"}, {inode: fileNumber, name: "x"}},
		"an entry of no bytes":      {{inode: fileNumber, name: "x", length: 4}},
		"an entry of odd length":    {{inode: fileNumber, name: "x", length: 13}},
		"an entry beyond the block": {{inode: fileNumber, name: "x", length: 8192}},
		"a name beyond its entry":   {{inode: fileNumber, name: strings.Repeat("x", 200), length: 12}},
		"an inode that is free":     {{inode: 1000, name: "x"}},
		"an inode beyond the last":  {{inode: 1 << 31, name: "x"}},
		"the journal":               {{inode: 8, name: "x"}},
		"the root again":            {{inode: 2, name: "x"}},
		"itself":                    {{inode: fileNumber + 1, name: "x"}},
	} {
		t.Run(name, func(t *testing.T) { expectFault(t, fault.Corrupt, empty, forged(t, entries(list...))) })
	}
	t.Run("what looks odd and is not wrong", func(t *testing.T) {
		odd := []string{"new\nline", "\x1b]0;title\a\x1b[2J", "...", " ", "\xff\xfe", "\u2028"}
		var list []forgedEntry
		expected := []string{"added /file", "added /forged"}
		for _, name := range odd {
			list = append(list, forgedEntry{inode: fileNumber, name: name})
			if name == "\xff\xfe" {
				expected = append(expected, `added {"base64":"L2ZvcmdlZC///g=="}`)
			} else {
				expected = append(expected, "added /forged/"+name)
			}
		}
		list = append(list, forgedEntry{inode: fileNumber, name: "."}, forgedEntry{inode: 99_999, name: ".."})
		expectChanges(t, empty, forged(t, entries(list...)), expected...)
	})
}

func TestLoopOfDirectories(t *testing.T) {
	before := newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4")
	after := copyOf(t, before)
	debugfs(t, after, "mkdir /etc/deep", "ln /etc /etc/deep/up")
	expectFault(t, fault.Corrupt, layersOf(t, before), layersOf(t, after))
	expectFault(t, fault.Corrupt, layersOf(t, after), layersOf(t, before))
	twice := copyOf(t, before)
	debugfs(t, twice, "ln /etc /many/etc")
	expectFault(t, fault.Corrupt, layersOf(t, before), layersOf(t, twice))
}

func TestAMillionFiles(t *testing.T) {
	count := 1_000_000
	if testing.Short() {
		count = 100_000
	}
	var blocks bytes.Buffer
	for blocks.Len() < count/100*4096 {
		var list []forgedEntry
		for index := range 100 {
			list = append(list, forgedEntry{inode: fileNumber, name: fmt.Sprintf("file-%07d", blocks.Len()/4096*100+index)})
		}
		blocks.Write(entries(list...))
	}
	many := forged(t, blocks.Bytes())
	empty := layersOf(t, newImage(t, 16*mebibyte, "", "-t", "ext4"))
	started := processorTime(t)
	for _, before := range []image{empty, many} {
		answer, err := ask(request{Mode: "lines", Before: before, After: many})
		end := answer[bytes.LastIndexByte(answer[:max(0, len(answer)-1)], '\n')+1:]
		expected := map[bool]int{true: count + 2, false: 0}[&before.Layers[0] == &empty.Layers[0]]
		if err != nil || !strings.HasPrefix(string(end), fmt.Sprintf(`{"line":"end","added":%d,`, expected)) {
			t.Errorf("%v; %s", err, end)
		}
	}
	if took := processorTime(t) - started; took > time.Minute {
		t.Errorf("both took %s", took)
	}
}

func TestExtentTreesThatBite(t *testing.T) {
	before := newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4", "-O", "^metadata_csum")
	for name, commands := range map[string][]string{
		"block beyond the end":  {"sif /large block[5] 0x7fffffff"},
		"block 0":               {"sif /large block[5] 0"},
		"no mark":               {"sif /large block[0] 0x1234"},
		"more than fit":         {"sif /large block[0] 0x7ffff30a"},
		"deeper than can be":    {"sif /large block[1] 0x00090004"},
		"deeper than there is":  {"sif /large block[1] 0x00010004"},
		"a map of the root":     {"sif /large flags 0", "sif /large block[TIND] 2"},
		"a map that is a noise": {"sif /large flags 0", "sif /large block[DIND] 0xffffffff"},
		"a directory with hole": {"sif /many size 0x100000000"},
		"a directory and a bit": {"sif /many size 4100"},
		"a long target":         {"sif /short size 0xfffffff", "sif /short flags 0"},
		"inline beyond":         {"sif /small flags 0x10000000", "sif /small size 5000"},
		"no type":               {"sif /small mode 0"},
		"no links":              {"sif /small links_count 0"},
	} {
		t.Run(name, func(t *testing.T) {
			after := copyOf(t, before)
			debugfs(t, after, commands...)
			expectFault(t, fault.Corrupt, layersOf(t, before), layersOf(t, after))
		})
	}
	huge := copyOf(t, before)
	debugfs(t, huge, "sif /etc/empty size 0x100000000000") // 16 TiB, and nothing in it
	for _, one := range changes(t, layersOf(t, before), layersOf(t, huge)) {
		if one.brief() != "changed /etc/empty content" || one.Digest != nil {
			t.Errorf("%s, with a digest %v", one.brief(), one.Digest)
		}
	}
}
