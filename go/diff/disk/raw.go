package disk

// raw is a file with the disk's bytes.
type raw struct {
	files *Files
	file  *file
}

func (r *raw) size() int64 { return r.file.size }

func (r *raw) find(offset int64) (Place, int64, bool, error) {
	return Place{File: r.file.number, At: offset}, r.file.size - offset, true, nil
}

func (r *raw) read(p []byte, place Place) error { return r.files.readAt(r.file, p, place.At) }
