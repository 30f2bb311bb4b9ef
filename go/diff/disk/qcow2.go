package disk

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"

	"mayfly/diff/fault"
)

// The format follows docs/interop/qcow2.txt of QEMU.
const (
	qcow2Magic       = 0x514649fb // "QFI\xfb"
	qcow2HeaderBytes = 104
	// Limit of QEMU, QCOW_MAX_L1_SIZE.
	maxL1Bytes   = 32 << 20
	maxDiskBytes = 1 << 50

	incompatibleDirty   = 1 << 0 // reference counts may be wrong, which reading does not need
	incompatibleCorrupt = 1 << 1

	entryOffset     = 0x00fffffffffffe00
	entryCompressed = 1 << 62
	entryZero       = 1 << 0
)

type qcow2 struct {
	files       *Files
	file        *file
	version     uint32
	clusterBits uint
	bytes       int64
	// tables are the offsets of the second-level tables.
	tables []int64
}

// openQcow2 reads the header. hasBacking is true when a layer below this one is given; the name in the header is
// ignored.
func openQcow2(files *Files, file *file, hasBacking bool) (*qcow2, error) {
	var header [qcow2HeaderBytes]byte
	if err := files.readAt(file, header[:], 0); err != nil {
		return nil, err
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(header[at:]) }
	u64 := func(at int) uint64 { return binary.BigEndian.Uint64(header[at:]) }
	image := &qcow2{files: files, file: file, version: u32(4), clusterBits: uint(u32(20)), bytes: int64(u64(24))}
	switch {
	case u32(0) != qcow2Magic:
		return nil, fault.New(fault.BadImage, "a layer that should be qcow2 is something else")
	case image.version != 2 && image.version != 3:
		return nil, fault.New(fault.Unsupported, "qcow2 version %d is not read", image.version)
	case image.clusterBits < 9 || image.clusterBits > 21:
		return nil, fault.New(fault.BadImage, "a qcow2 layer has clusters of 2^%d bytes", image.clusterBits)
	case image.bytes <= 0 || image.bytes > maxDiskBytes:
		return nil, fault.New(fault.BadImage, "a qcow2 layer is for a disk of %d bytes", uint64(image.bytes))
	case u32(32) != 0:
		return nil, fault.New(fault.Unsupported, "a qcow2 layer is encrypted")
	case (u64(8) != 0) != hasBacking:
		return nil, fault.New(fault.BadRequest, "the chain of layers is not whole: a qcow2 layer has %s",
			map[bool]string{true: "no backing file", false: "a backing file"}[hasBacking])
	}
	if image.version == 3 {
		if err := checkFeatures(u64(72), u32(100)); err != nil {
			return nil, err
		}
	}
	return image, image.readTables(int64(u64(40)), int64(u32(36)))
}

func checkFeatures(incompatible uint64, headerBytes uint32) error {
	if incompatible&incompatibleCorrupt != 0 {
		return fault.New(fault.BadImage, "a qcow2 layer is marked as corrupt: see `qemu-img check`")
	}
	if other := incompatible &^ (incompatibleDirty | incompatibleCorrupt); other != 0 {
		return fault.New(fault.Unsupported, "a qcow2 layer has features that are not read (bits %#x: 4 is a data file "+
			"of its own, 8 another compression than zlib, 16 extended entries)", other)
	}
	if headerBytes < qcow2HeaderBytes {
		return fault.New(fault.BadImage, "a qcow2 layer has a header of %d bytes", headerBytes)
	}
	return nil
}

func (q *qcow2) readTables(offset, entries int64) error {
	perTable := int64(1) << (2*q.clusterBits - 3)
	needed := (q.bytes + perTable - 1) / perTable
	if needed > entries || needed*8 > maxL1Bytes || offset <= 0 || offset > q.file.size-needed*8 {
		return fault.New(fault.BadImage, "a qcow2 layer has no table for all of its %d bytes", q.bytes)
	}
	table := make([]byte, needed*8)
	if err := q.files.readAt(q.file, table, offset); err != nil {
		return err
	}
	for at := 0; at < len(table); at += 8 {
		entry := int64(binary.BigEndian.Uint64(table[at:]) & entryOffset)
		if err := q.checkCluster(entry); err != nil {
			return err
		}
		q.tables = append(q.tables, entry)
	}
	return nil
}

func (q *qcow2) clusterBytes() int64 { return 1 << q.clusterBits }

func (q *qcow2) checkCluster(offset int64) error {
	if offset&(q.clusterBytes()-1) != 0 || offset >= q.file.size {
		return fault.New(fault.BadImage, "a qcow2 layer points at byte %d of its %d", offset, q.file.size)
	}
	return nil
}

func (q *qcow2) size() int64 { return q.bytes }

func (q *qcow2) find(offset int64) (Place, int64, bool, error) {
	within := offset & (q.clusterBytes() - 1)
	length := min(q.clusterBytes()-within, q.bytes-offset)
	table := q.tables[offset>>(2*q.clusterBits-3)]
	if table == 0 {
		return Nowhere, length, false, nil
	}
	index := (offset >> q.clusterBits) & (q.clusterBytes()/8 - 1)
	var entryBytes [8]byte
	if err := q.files.readAt(q.file, entryBytes[:], table+index*8); err != nil {
		return Nowhere, 0, false, err
	}
	entry := binary.BigEndian.Uint64(entryBytes[:])
	if entry&entryCompressed != 0 {
		descriptor := int64(entry & (entryCompressed - 1))
		return Place{File: q.file.number, Compressed: true, At: descriptor, Within: within}, length, true, nil
	}
	if q.version == 3 && entry&entryZero != 0 {
		return Nowhere, length, true, nil
	}
	host := int64(entry & entryOffset)
	if host == 0 {
		return Nowhere, length, false, nil
	}
	err := q.checkCluster(host)
	return Place{File: q.file.number, At: host + within}, length, true, err
}

func (q *qcow2) read(p []byte, place Place) error {
	if !place.Compressed {
		return q.files.readAt(q.file, p, place.At)
	}
	if err := q.files.meter.Charge(int64(len(p))); err != nil {
		return err
	}
	cluster, err := q.decompressed(place.At)
	if err != nil {
		return err
	}
	copy(p, cluster[place.Within:])
	return nil
}

// decompressed returns a whole cluster, and caches it.
func (q *qcow2) decompressed(descriptor int64) ([]byte, error) {
	key := cacheKey{file: q.file.number, compressed: true, at: descriptor}
	if found := q.files.cache.get(key); found != nil {
		return found, nil
	}
	// The low x bits are the offset, those above it the number of further sectors: 62 - (cluster_bits - 8).
	x := 62 - (q.clusterBits - 8)
	offset := descriptor & (1<<x - 1)
	length := (descriptor>>x+1)*512 - offset%512
	if offset >= q.file.size {
		return nil, fault.New(fault.BadImage, "a qcow2 layer points at byte %d of its %d", offset, q.file.size)
	}
	packed := make([]byte, length)
	if err := q.files.readAt(q.file, packed, offset); err != nil {
		return nil, err
	}
	cluster := make([]byte, q.clusterBytes())
	if err := q.files.meter.Charge(q.clusterBytes()); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(packed)), cluster); err != nil {
		return nil, fault.New(fault.BadImage, "a compressed cluster of a qcow2 layer is damaged: %v", err)
	}
	q.files.cache.put(key, cluster)
	return cluster, nil
}
