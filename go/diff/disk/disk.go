// Package disk reads a guest's disk from the layers on the host. It opens no file: names in an image, such as that
// of a backing file, are ignored.
package disk

import "mayfly/diff/fault"

// Layer is one file of a chain, open for reading. The caller sets the format, since a guest can write a qcow2
// header into a raw disk.
type Layer struct {
	FD     int    `json:"fd"`
	Format string `json:"format"`
}

const maxLayers = 256

// Place is where the host stores a byte of a disk. Equal places have equal content.
type Place struct {
	// File is -1 for unallocated bytes, which read as zero.
	File int32
	// Compressed places consist of a cluster's descriptor and the byte in it.
	Compressed bool
	At         int64
	Within     int64
}

// Nowhere is the place of all unallocated bytes.
var Nowhere = Place{File: -1}

// layer is one file of a chain, which maps bytes of the disk to bytes of the file.
type layer interface {
	size() int64
	// find returns the place of a byte, and the number of contiguous bytes from it on; false when this layer lacks
	// it.
	find(offset int64) (place Place, length int64, has bool, err error)
	// read fills p from a place of find, within its length.
	read(p []byte, place Place) error
}

// Disk is a chain of layers, the newest first.
type Disk struct {
	layers []layer
}

// Open opens a disk by its layers, the newest first.
func (f *Files) Open(layers []Layer) (*Disk, error) {
	if len(layers) == 0 || len(layers) > maxLayers {
		return nil, fault.New(fault.BadRequest, "a disk has 1 to %d layers, not %d", maxLayers, len(layers))
	}
	disk := &Disk{}
	for index, one := range layers {
		file, err := f.open(one.FD)
		if err != nil {
			return nil, err
		}
		last := index == len(layers)-1
		var opened layer
		switch {
		case one.Format == "qcow2":
			opened, err = openQcow2(f, file, !last)
		case one.Format == "raw" && last:
			opened = &raw{files: f, file: file}
		default:
			err = fault.New(fault.BadRequest, "layer %d is %s: layers are qcow2, the last one may be raw",
				index, fault.Quote([]byte(one.Format)))
		}
		if err != nil {
			return nil, err
		}
		disk.layers = append(disk.layers, opened)
	}
	return disk, nil
}

// Size is the size that the guest sees, bytes.
func (d *Disk) Size() int64 { return d.layers[0].size() }

// Locate returns the place of a byte, and the number of contiguous bytes from it on, at least 1.
func (d *Disk) Locate(offset int64) (Place, int64, error) {
	_, place, length, err := d.locate(offset)
	return place, length, err
}

func (d *Disk) locate(offset int64) (layer, Place, int64, error) {
	if offset < 0 || offset >= d.Size() {
		return nil, Nowhere, 0, fault.New(fault.Corrupt, "byte %d is not on the disk of %d bytes", offset, d.Size())
	}
	length := d.Size() - offset
	for _, layer := range d.layers {
		// A disk may be larger than its backing file.
		if offset >= layer.size() {
			break
		}
		place, n, has, err := layer.find(offset)
		if err != nil {
			return nil, Nowhere, 0, err
		}
		length = min(length, n)
		if has {
			return layer, place, length, nil
		}
	}
	return nil, Nowhere, length, nil
}

// ReadAt fills p.
func (d *Disk) ReadAt(p []byte, offset int64) error {
	for len(p) > 0 {
		layer, place, length, err := d.locate(offset)
		if err != nil {
			return err
		}
		n := min(int64(len(p)), length)
		if place.File < 0 {
			clear(p[:n])
		} else if err := layer.read(p[:n], place); err != nil {
			return err
		}
		p, offset = p[n:], offset+n
	}
	return nil
}
