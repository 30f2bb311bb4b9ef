package disk

import (
	"encoding/binary"

	"mayfly/diff/fault"
)

const (
	sectorBytes = 512

	// UEFI specification, 5.2 and 5.3.
	typeProtective  = 0xee
	gptEntryBytes   = 128
	maxGptEntries   = 1024
	maxGptEntrySize = 4096

	maxLogicalPartitions = 64
)

// Volume is a range of a disk.
type Volume struct {
	disk  *Disk
	start int64
	bytes int64
	// Number is the partition number; 0 for the whole disk.
	Number int
}

// Size is the size in bytes.
func (v *Volume) Size() int64 { return v.bytes }

// ReadAt fills p.
func (v *Volume) ReadAt(p []byte, offset int64) error {
	if offset < 0 || offset > v.bytes-int64(len(p)) {
		return fault.New(fault.Corrupt, "%d bytes at byte %d are not in the volume of %d bytes", len(p), offset, v.bytes)
	}
	return v.disk.ReadAt(p, v.start+offset)
}

// Locate returns the place of a byte, as on the disk.
func (v *Volume) Locate(offset int64) (Place, int64, error) {
	if offset < 0 || offset >= v.bytes {
		return Nowhere, 0, fault.New(fault.Corrupt, "byte %d is not in the volume of %d bytes", offset, v.bytes)
	}
	place, length, err := v.disk.Locate(v.start + offset)
	return place, min(length, v.bytes-offset), err
}

// Whole returns the disk as one volume.
func (d *Disk) Whole() *Volume { return &Volume{disk: d, bytes: d.Size()} }

// Partitions returns the partitions of a GPT or an MBR; none when the disk has neither.
func (d *Disk) Partitions() ([]*Volume, error) {
	record, err := d.bootRecord(0)
	if err != nil || record == nil {
		return nil, err
	}
	var found []*Volume
	for index, entry := range record {
		switch {
		case entry.kind == typeProtective:
			return d.gpt()
		case entry.extended():
			logical, err := d.logical(entry.start)
			if err != nil {
				return nil, err
			}
			found = append(found, logical...)
		default:
			found = d.appendVolume(found, index+1, entry.start, entry.sectors)
		}
	}
	return found, nil
}

// appendVolume skips partitions that are empty, or exceed the disk.
func (d *Disk) appendVolume(to []*Volume, number int, start, sectors int64) []*Volume {
	all := d.Size() / sectorBytes
	if start <= 0 || sectors <= 0 || start >= all || sectors > all-start {
		return to
	}
	return append(to, &Volume{disk: d, start: start * sectorBytes, bytes: sectors * sectorBytes, Number: number})
}

type mbrEntry struct {
	kind           byte
	start, sectors int64
}

func (e mbrEntry) extended() bool { return e.kind == 0x05 || e.kind == 0x0f || e.kind == 0x85 }

// bootRecord returns the four entries of an MBR; nil for a sector without its signature.
func (d *Disk) bootRecord(sector int64) ([]mbrEntry, error) {
	var record [sectorBytes]byte
	if sector < 0 || sector >= d.Size()/sectorBytes {
		return nil, nil
	}
	if err := d.ReadAt(record[:], sector*sectorBytes); err != nil {
		return nil, err
	}
	if record[510] != 0x55 || record[511] != 0xaa {
		return nil, nil
	}
	var entries []mbrEntry
	for at := 446; at < 510; at += 16 {
		entries = append(entries, mbrEntry{
			kind:    record[at+4],
			start:   int64(binary.LittleEndian.Uint32(record[at+8:])),
			sectors: int64(binary.LittleEndian.Uint32(record[at+12:])),
		})
	}
	return entries, nil
}

// logical follows the chain of an extended partition, whose links are relative to its start.
func (d *Disk) logical(extended int64) ([]*Volume, error) {
	var found []*Volume
	for number, sector := 5, extended; number < 5+maxLogicalPartitions; number++ {
		record, err := d.bootRecord(sector)
		if err != nil || record == nil {
			return found, err
		}
		found = d.appendVolume(found, number, sector+record[0].start, record[0].sectors)
		if !record[1].extended() || record[1].start == 0 {
			return found, nil
		}
		sector = extended + record[1].start
	}
	return nil, fault.New(fault.NoFileSystem, "the extended partition has more than %d others", maxLogicalPartitions)
}

func (d *Disk) gpt() ([]*Volume, error) {
	var header [sectorBytes]byte
	if err := d.ReadAt(header[:], sectorBytes); err != nil {
		return nil, err
	}
	if string(header[:8]) != "EFI PART" {
		return nil, fault.New(fault.NoFileSystem, "the disk should have a GPT, and its header is something else")
	}
	first := binary.LittleEndian.Uint64(header[72:])
	count := binary.LittleEndian.Uint32(header[80:])
	size := int64(binary.LittleEndian.Uint32(header[84:]))
	if count > maxGptEntries || size < gptEntryBytes || size > maxGptEntrySize || first > uint64(d.Size()/sectorBytes) {
		return nil, fault.New(fault.NoFileSystem, "the GPT has %d entries of %d bytes at sector %d", count, size, first)
	}
	var found []*Volume
	for index := range int64(count) {
		var entry [gptEntryBytes]byte
		if err := d.ReadAt(entry[:], int64(first)*sectorBytes+index*size); err != nil {
			return nil, err
		}
		start, end := binary.LittleEndian.Uint64(entry[32:]), binary.LittleEndian.Uint64(entry[40:])
		if end >= start && end < uint64(maxDiskBytes/sectorBytes) {
			found = d.appendVolume(found, int(index)+1, int64(start), int64(end-start+1))
		}
	}
	return found, nil
}
