// Package meter limits the work that an image can cause: every loop reads or hashes, and each read and hash is
// charged here.
package meter

import (
	"time"

	"mayfly/diff/fault"
)

// A clock read costs more than the read of a block, so only every 256th charge checks the time.
const chargesPerLook = 256

// Meter counts bytes, and checks a deadline.
type Meter struct {
	deadline time.Time
	granted  time.Duration
	left     int64
	bytes    int64
	charges  int
}

// New returns a meter with a limit of bytes, and a time limit that starts now.
func New(bytes int64, granted time.Duration) *Meter {
	return &Meter{deadline: time.Now().Add(granted), granted: granted, left: bytes, bytes: bytes}
}

// Charge subtracts bytes from the limit. Charge one byte for any small work.
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
