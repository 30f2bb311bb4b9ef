package ext4

import "bytes"

// Equal compares two files of the same size. It skips bytes that the host stores in one place, which are equal
// despite other metadata.
func (c *Content) Equal(other *Content, charge func(int64) error) (bool, error) {
	if c.inline != nil || other.inline != nil {
		return c.equalBytes(other)
	}
	var mine, others []byte
	for offset := int64(0); offset < c.Size; {
		if err := charge(1); err != nil {
			return false, err
		}
		hereAt, here := c.run(offset)
		thereAt, there := other.run(offset)
		length := min(here, there)
		if hereAt < 0 && thereAt < 0 {
			offset += length
			continue
		}
		same, length, err := samePlace(c.fs, hereAt, other.fs, thereAt, length)
		if err != nil {
			return false, err
		}
		if !same {
			length = min(length, chunkBytes)
			if mine == nil {
				mine, others = make([]byte, min(chunkBytes, c.Size)), make([]byte, min(chunkBytes, c.Size))
			}
			mine, others := mine[:length], others[:length]
			if err := c.readRun(mine, hereAt); err != nil {
				return false, err
			}
			if err := other.readRun(others, thereAt); err != nil {
				return false, err
			}
			if !bytes.Equal(mine, others) {
				return false, nil
			}
		}
		offset += length
	}
	return true, nil
}

// samePlace reports whether the host stores both in one place (or nowhere), and for how many bytes.
func samePlace(a *FS, at int64, b *FS, bt int64, length int64) (bool, int64, error) {
	here, n, toldA, err := a.placeOf(at, length)
	if err != nil {
		return false, 0, err
	}
	there, m, toldB, err := b.placeOf(bt, length)
	return toldA && toldB && here == there, min(n, m, length), err
}

func (c *Content) equalBytes(other *Content) (bool, error) {
	mine, err := c.Bytes(maxInlineBytes)
	if err != nil {
		return false, err
	}
	others, err := other.Bytes(maxInlineBytes)
	return bytes.Equal(mine, others), err
}
