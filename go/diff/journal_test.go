package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mayfly/diff/fault"
)

// journaled returns `then`, with the changes to `now` only in its journal, in two transactions.
func journaled(t *testing.T, then, now string, blockBytes int) string {
	t.Helper()
	image := copyOf(t, then)
	old, new := read(t, then), read(t, now)
	var blocks []string
	var content bytes.Buffer
	for at := blockBytes; at < len(new); at += blockBytes { // debugfs does not take block 0
		if !bytes.Equal(old[at:at+blockBytes], new[at:at+blockBytes]) {
			blocks = append(blocks, fmt.Sprint(at/blockBytes))
			content.Write(new[at : at+blockBytes])
		}
	}
	// Stale content of the last block comes first.
	stale := write(t, t.TempDir()+"/stale", strings.Repeat("stale", blockBytes)[:blockBytes])
	patch := write(t, t.TempDir()+"/patch", content.String())
	debugfs(t, image, "jo", "jw -b "+blocks[len(blocks)-1]+" "+stale, "jw -b "+strings.Join(blocks, ",")+" "+patch, "jc")
	return image
}

func TestJournalIsReplayed(t *testing.T) {
	for name, options := range map[string][]string{
		"ext4": {"-t", "ext4"}, "ext3": {"-t", "ext3"}, "blocks 1k": {"-t", "ext4", "-b", "1024"},
		"checksums v3": {"-t", "ext4", "-O", "metadata_csum,64bit"}, "no checksums": {"-t", "ext4", "-O", "^metadata_csum,^64bit"},
	} {
		t.Run(name, func(t *testing.T) {
			before := newImage(t, 64*mebibyte, sampleFolder(t), options...)
			after := copyOf(t, before)
			// Starts like a journal block, so the journal escapes it.
			odd := write(t, t.TempDir()+"/odd", "\xc0\x3b\x39\x98"+strings.Repeat("z", 5000))
			debugfs(t, after, "rm /small", "sif /medium mode 0100600", "write "+odd+" /new")
			blockBytes := 4096
			if name == "blocks 1k" {
				blockBytes = 1024
			}
			waiting := journaled(t, before, after, blockBytes)
			expectChanges(t, layersOf(t, before), layersOf(t, waiting), "removed /small", "changed /medium mode", "added /new")
			expectChanges(t, layersOf(t, after), layersOf(t, waiting))
			if size, begin := contentOf(t, layersOf(t, waiting), "/new", 8); size != 5004 || begin != "\xc0\x3b\x39\x98zzzz" {
				t.Errorf("%d bytes, the first of them %q", size, begin)
			}
			answer, err := ask(request{Mode: "lines", Before: layersOf(t, before), After: layersOf(t, waiting)})
			if err != nil || !bytes.Contains(answer, []byte(`"journal":"replayed"`)) {
				t.Errorf("%.200s, %v", answer, err)
			}
			// e2fsck agrees.
			replayed := copyOf(t, waiting)
			tool(t, "", "e2fsck", "-E", "journal_only", "-p", replayed)
			expectChanges(t, layersOf(t, replayed), layersOf(t, waiting))
		})
	}
}

func TestRevokedBlocksAreNotReplayed(t *testing.T) {
	before := newImage(t, 32*mebibyte, sampleFolder(t), "-t", "ext4")
	image := copyOf(t, before)
	stale := write(t, t.TempDir()+"/stale", strings.Repeat("stale", 2000)[:4096])
	// The block of a file, as if it had belonged to a directory.
	block := strings.TrimSpace(strings.Split(tool(t, "", "debugfs", "-R", "blocks /large", image), "\n")[1])
	block = strings.Fields(block)[0]
	debugfs(t, image, "jo", "jw -b "+block+" "+stale, "jw -r "+block, "jc")
	expectChanges(t, layersOf(t, before), layersOf(t, image))
	debugfs(t, image, "jo", "jw -b "+block+" "+stale, "jc")
	expectChanges(t, layersOf(t, before), layersOf(t, image), "changed /large content")
}

func TestBrokenJournals(t *testing.T) {
	before := newImage(t, 32*mebibyte, sampleFolder(t), "-t", "ext4")
	after := copyOf(t, before)
	debugfs(t, after, "rm /small")
	image := read(t, journaled(t, before, after, 4096))
	super := bytes.Index(image, []byte{0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 4})
	for name, breakIt := range map[string]func([]byte){
		"no mark":           func(journal []byte) { journal[0] = 0 },
		"longer than it is": func(journal []byte) { journal[0x10] = 0xff },
		"starts nowhere":    func(journal []byte) { journal[0x1c] = 0xff },
		"first is 0":        func(journal []byte) { clear(journal[0x14:0x18]) },
		"other blocks":      func(journal []byte) { journal[0xf] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			broken := bytes.Clone(image)
			breakIt(broken[super:])
			expectFault(t, fault.Corrupt, layersOf(t, before), layersOf(t, write(t, t.TempDir()+"/image", string(broken))))
		})
	}
	fast := bytes.Clone(image)
	fast[super+0x2b] |= 0x20
	expectFault(t, fault.Unsupported, layersOf(t, before), layersOf(t, write(t, t.TempDir()+"/image", string(fast))))
}
