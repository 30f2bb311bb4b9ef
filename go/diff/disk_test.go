package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"mayfly/diff/fault"
)

const clusterBytes = 64 << 10

// overlay creates a qcow2 overlay on base, with only the clusters in which the raw image now differs from then.
func overlay(t *testing.T, base, then, now string) string {
	t.Helper()
	path := t.TempDir() + "/overlay.qcow2"
	tool(t, "", "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", base, path)
	old, new := read(t, then), read(t, now)
	argv := []string{"qemu-io", "-f", "qcow2"}
	for at := 0; at < len(new); at += clusterBytes {
		if cluster := new[at : at+clusterBytes]; !bytes.Equal(cluster, old[at:at+clusterBytes]) {
			patch := write(t, fmt.Sprintf("%s/%d", t.TempDir(), at), string(cluster))
			argv = append(argv, "-c", fmt.Sprintf("write -s %s %d %d", patch, at, clusterBytes))
		}
	}
	if output := tool(t, "", append(argv, path)...); strings.Contains(output, "error") {
		t.Fatal(output)
	}
	return path
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestChainsOfQcow2(t *testing.T) {
	for name, options := range map[string][]string{
		"plain": nil, "compressed": {"-c"}, "small clusters": {"-o", "cluster_size=4096"}, "version 2": {"-o", "compat=0.10"},
	} {
		t.Run(name, func(t *testing.T) {
			first := newImage(t, 64*mebibyte, sampleFolder(t), "-t", "ext4")
			base := t.TempDir() + "/base.qcow2"
			tool(t, "", append(append([]string{"qemu-img", "convert", "-O", "qcow2"}, options...), first, base)...)
			second := copyOf(t, first)
			debugfs(t, second, "rm /small", "sif /medium mode 0100600")
			middle := overlay(t, base, first, second)
			third := copyOf(t, second)
			debugfs(t, third, "rm /etc/empty", "sif /medium mode 0100644")
			top := overlay(t, middle, second, third)

			expectChanges(t, layersOf(t, base), layersOf(t, first))
			expectChanges(t, layersOf(t, base), layersOf(t, middle, base), "removed /small", "changed /medium mode")
			expectChanges(t, layersOf(t, middle, base), layersOf(t, top, middle, base), "removed /etc/empty", "changed /medium mode")
			expectChanges(t, layersOf(t, base), layersOf(t, top, middle, base), "removed /small", "removed /etc/empty")
			expectChanges(t, layersOf(t, third), layersOf(t, top, middle, base))

			expectFault(t, fault.BadRequest, layersOf(t, base), layersOf(t, middle))
			expectFault(t, fault.BadRequest, layersOf(t, base), layersOf(t, base, base))
			expectFault(t, fault.BadRequest, layersOf(t, base), layersOf(t, first, base))
		})
	}
}

// A qcow2 header that the guest writes into a raw disk is ignored.
func TestRawDiskWithAQcow2Header(t *testing.T) {
	raw := newImage(t, 16*mebibyte, "", "-t", "ext4")
	evil := t.TempDir() + "/evil.qcow2"
	tool(t, "", "qemu-img", "create", "-q", "-f", "qcow2", "-u", "-F", "raw", "-b", "/etc/passwd", evil, "16M")
	image := copyOf(t, raw)
	patched := read(t, image)
	copy(patched, read(t, evil)[:1024])
	write(t, image, string(patched))
	expectChanges(t, layersOf(t, raw), layersOf(t, image))
}

func TestBrokenQcow2(t *testing.T) {
	good := t.TempDir() + "/good.qcow2"
	tool(t, "", "qemu-img", "convert", "-O", "qcow2", newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4"), good)
	u32, u64 := binary.BigEndian.PutUint32, binary.BigEndian.PutUint64
	for name, breakIt := range map[string]func([]byte){
		"no mark":               func(image []byte) { image[0] = 'X' },
		"version 9":             func(image []byte) { u32(image[4:], 9) },
		"clusters of a bit":     func(image []byte) { u32(image[20:], 0) },
		"clusters of 2^60":      func(image []byte) { u32(image[20:], 60) },
		"a disk of 2^63":        func(image []byte) { u64(image[24:], 1<<63) },
		"a disk of nothing":     func(image []byte) { u64(image[24:], 0) },
		"encrypted":             func(image []byte) { u32(image[32:], 2) },
		"table behind the end":  func(image []byte) { u64(image[40:], 1<<62) },
		"table too small":       func(image []byte) { u32(image[36:], 0) },
		"external data":         func(image []byte) { u64(image[72:], 4) },
		"unknown feature":       func(image []byte) { u64(image[72:], 1<<40) },
		"marked corrupt":        func(image []byte) { u64(image[72:], 2) },
		"second table far away": func(image []byte) { u64(image[binary.BigEndian.Uint64(image[40:]):], 1<<50) },
		"cut off":               func(image []byte) { clear(image[60:]) },
	} {
		t.Run(name, func(t *testing.T) {
			image := read(t, good)
			breakIt(image)
			answer, err := ask(request{Mode: "lines", Before: layersOf(t, good), After: layersOf(t, write(t, t.TempDir()+"/b.qcow2", string(image)))})
			if _, is := err.(*fault.Fault); !is {
				t.Errorf("%v, with %d bytes of answer", err, len(answer))
			}
		})
	}
}

func TestPartitions(t *testing.T) {
	fs := newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4")
	content := read(t, fs)
	const start, sectors = 2048, 16 * mebibyte / 512
	disk := make([]byte, (start+sectors+2048)*512)
	copy(disk[start*512:], content)
	entry := func(at int, kind byte, first, count uint32) {
		disk[at+4] = kind
		binary.LittleEndian.PutUint32(disk[at+8:], first)
		binary.LittleEndian.PutUint32(disk[at+12:], count)
	}
	disk[510], disk[511] = 0x55, 0xaa
	entry(446+16, 0x83, start, sectors)
	image := func() image { return layersOf(t, write(t, t.TempDir()+"/disk", string(disk))) }
	expectChanges(t, layersOf(t, fs), image())
	two, one := 2, 1
	asked := image()
	asked.Partition = &two
	expectChanges(t, layersOf(t, fs), asked)
	asked.Partition = &one
	expectFault(t, fault.NoFileSystem, layersOf(t, fs), asked)

	entry(446+32, 0x83, start, sectors)
	expectFault(t, fault.NoFileSystem, layersOf(t, fs), image())
	entry(446+32, 0x05, 100, 1000) // an extended partition whose chain is a loop
	copy(disk[100*512:], disk[:512])
	clear(disk[100*512 : 100*512+510])
	disk[100*512+446+16+4], disk[100*512+446+16+8] = 0x05, 0
	disk[100*512+446+16+9] = 0
	expectChanges(t, layersOf(t, fs), image())
	binary.LittleEndian.PutUint32(disk[100*512+446+16+8:], 1)
	copy(disk[101*512:], disk[100*512:101*512])
	expectFault(t, fault.NoFileSystem, layersOf(t, fs), image())

	clear(disk[446:510])
	entry(446, 0xee, 1, 0xffffffff)
	copy(disk[512:], "EFI PART")
	binary.LittleEndian.PutUint64(disk[512+72:], 2)
	binary.LittleEndian.PutUint32(disk[512+80:], 128)
	binary.LittleEndian.PutUint32(disk[512+84:], 128)
	binary.LittleEndian.PutUint64(disk[1024+128*3+32:], start)
	binary.LittleEndian.PutUint64(disk[1024+128*3+40:], start+sectors-1)
	expectChanges(t, layersOf(t, fs), image())
	binary.LittleEndian.PutUint32(disk[512+80:], 0xffffffff)
	expectFault(t, fault.NoFileSystem, layersOf(t, fs), image())
	expectFault(t, fault.NoFileSystem, layersOf(t, fs), layersOf(t, write(t, t.TempDir()+"/noise", strings.Repeat("noise", 99_999))))
	expectFault(t, fault.NoFileSystem, layersOf(t, fs), layersOf(t, write(t, t.TempDir()+"/tiny", "x")))
}

// System disks often have a /boot or a /home beside the root.
func TestRootAmongPartitions(t *testing.T) {
	root, other := newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4"), newImage(t, 8*mebibyte, "", "-t", "ext4")
	disk := make([]byte, 32*mebibyte)
	copy(disk[1*mebibyte:], read(t, other))
	copy(disk[12*mebibyte:], read(t, root))
	disk[510], disk[511] = 0x55, 0xaa
	for index, place := range [][2]uint32{{1, 8}, {12, 16}} {
		at := 446 + 16*index
		disk[at+4] = 0x83
		binary.LittleEndian.PutUint32(disk[at+8:], place[0]*mebibyte/512)
		binary.LittleEndian.PutUint32(disk[at+12:], place[1]*mebibyte/512)
	}
	expectChanges(t, layersOf(t, root), layersOf(t, write(t, t.TempDir()+"/disk", string(disk))))
}
