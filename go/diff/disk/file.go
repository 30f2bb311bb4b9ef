package disk

import (
	"syscall"

	"mayfly/diff/fault"
	"mayfly/diff/meter"
)

// unitBytes is the size of a read and of a cached block: a compromise between long reads and scattered inodes.
const unitBytes = 1 << 14

// Files are the layers of all disks. Disks with a common file share it here, so that its places are equal for both.
type Files struct {
	meter *meter.Meter
	cache *cache
	known []*file
}

// file is one file of the host, open for reading.
type file struct {
	fd            int
	number        int32
	device, inode uint64
	size          int64
}

// NewFiles caches at most cacheBytes.
func NewFiles(meter *meter.Meter, cacheBytes int) *Files {
	return &Files{meter: meter, cache: newCache(cacheBytes)}
}

// open takes a descriptor that this process inherited; it opens nothing by name.
func (f *Files) open(fd int) (*file, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return nil, fault.New(fault.BadRequest, "descriptor %d is not open: %v", fd, err)
	}
	device, inode := uint64(stat.Dev), stat.Ino
	kind := stat.Mode & syscall.S_IFMT
	if kind != syscall.S_IFREG && kind != syscall.S_IFBLK {
		return nil, fault.New(fault.BadRequest, "descriptor %d is neither a file nor a block device", fd)
	}
	for _, file := range f.known {
		if file.device == device && file.inode == inode {
			return file, nil
		}
	}
	// The inode of a block device lacks its size.
	size, err := syscall.Seek(fd, 0, 2)
	if err != nil {
		return nil, fault.New(fault.BadRequest, "the size of descriptor %d is unknown: %v", fd, err)
	}
	opened := &file{fd: fd, number: int32(len(f.known)), device: device, inode: inode, size: size}
	f.known = append(f.known, opened)
	return opened, nil
}

// readAt fills p from a file; bytes behind its end are zero, as in QEMU.
func (f *Files) readAt(from *file, p []byte, offset int64) error {
	if err := f.meter.Charge(int64(len(p))); err != nil {
		return err
	}
	for len(p) > 0 {
		unit, err := f.unit(from, offset/unitBytes)
		if err != nil {
			return err
		}
		within := int(offset % unitBytes)
		n := 0
		if within < len(unit) {
			n = copy(p, unit[within:])
		} else {
			n = min(len(p), unitBytes-within)
			clear(p[:n])
		}
		p, offset = p[n:], offset+int64(n)
	}
	return nil
}

func (f *Files) unit(from *file, number int64) ([]byte, error) {
	key := cacheKey{file: from.number, at: number * unitBytes}
	if found := f.cache.get(key); found != nil {
		return found, nil
	}
	if err := f.meter.Charge(1); err != nil {
		return nil, err
	}
	content := make([]byte, max(0, min(unitBytes, from.size-key.at)))
	if err := readFull(from.fd, content, key.at); err != nil {
		return nil, err
	}
	f.cache.put(key, content)
	return content, nil
}

func readFull(fd int, p []byte, offset int64) error {
	for len(p) > 0 {
		n, err := syscall.Pread(fd, p, offset)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return fault.New(fault.BadImage, "a layer cannot be read at byte %d: %v", offset, err)
		case n == 0:
			return fault.New(fault.BadImage, "a layer has become shorter while it was read, at byte %d", offset)
		default:
			p, offset = p[n:], offset+int64(n)
		}
	}
	return nil
}
