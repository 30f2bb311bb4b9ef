// Package meter bounds the work that an image can cause: whatever loops reads or hashes, and whatever reads or hashes
// is charged here.
package meter

import (
	"time"

	"mayfly/diff/fault"
)

// A look at the clock costs more than the reading of a block, so it is taken only so often.
const chargesPerLook = 256

// Meter counts bytes, and watches the clock.
type Meter struct {
	deadline time.Time
	granted  time.Duration
	left     int64
	bytes    int64
	charges  int
}

// New grants an amount of bytes to read, and a time that begins now.
func New(bytes int64, granted time.Duration) *Meter {
	return &Meter{deadline: time.Now().Add(granted), granted: granted, left: bytes, bytes: bytes}
}

// Charge takes some bytes off what is granted. One byte stands for any small work.
func (m *Meter) Charge(bytes int64) error {
	m.left -= bytes
	if m.left < 0 {
		return fault.New(fault.Limit, "more than %d bytes would have to be read", m.bytes)
	}
	m.charges++
	if m.charges%chargesPerLook == 0 && time.Now().After(m.deadline) {
		return fault.New(fault.Limit, "it would take longer than %s", m.granted)
	}
	return nil
}
