package output

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Follower sends a log from the wanted offsets on, as long as it grows.
type Follower struct {
	Log *Log
	// File is the log's file; nil when none of it is wanted.
	File   *os.File
	Target io.Writer
	// Flush sends bytes that Target has buffered.
	Flush func()
	// Wanted is the offset in each stream that the client already has.
	Wanted Offsets
	at     place
}

var errBroken = errors.New("the log of the command is broken")

// sendBytes is the size of one write; it exceeds any frame.
const sendBytes = 256 << 10

var sendBuffers = sync.Pool{New: func() any { b := make([]byte, sendBytes); return &b }}

// pace is the minimum interval between two writes. A program that prints line by line would otherwise cost a
// packet, an encryption and several context switches per line.
const pace = 10 * time.Millisecond

// Run returns after the last byte of an ended log, or with an error.
func (f *Follower) Run(ctx context.Context) error {
	f.at = f.Log.before(f.Wanted)
	f.Flush()
	for {
		end, ended, changed := f.Log.state()
		isNew := f.at.position < end
		for f.at.position < end {
			if err := f.send(end); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		if isNew {
			f.Flush()
			rest := time.NewTimer(pace)
			select {
			case <-rest.C:
			case <-f.Log.over:
			case <-ctx.Done():
			}
			rest.Stop()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *Follower) send(end int64) error {
	held := sendBuffers.Get().(*[]byte)
	defer sendBuffers.Put(held)
	piece := (*held)[:min(int64(len(*held)), end-f.at.position)]
	if _, err := f.File.ReadAt(piece, f.at.position); err != nil {
		return err
	}
	if !f.caughtUp() {
		return f.sift(piece)
	}
	// Everything from here on is wanted: no need to parse it.
	f.at.position += int64(len(piece))
	_, err := f.Target.Write(piece)
	return err
}

func (f *Follower) caughtUp() bool {
	return f.at.seen[Stdout] >= f.Wanted[Stdout] && f.at.seen[Stderr] >= f.Wanted[Stderr]
}

// sift sends the wanted part of a piece that begins with a frame, up to the point from which all is wanted.
func (f *Follower) sift(piece []byte) error {
	done := int64(0)
	for done+frameHeaderBytes <= int64(len(piece)) && !f.caughtUp() {
		h, ok := readHeader(piece[done:])
		if !ok {
			return errBroken
		}
		next := done + frameHeaderBytes + h.length
		if skip := f.Wanted[h.stream] - h.offset; skip < h.length {
			if next > int64(len(piece)) {
				break
			}
			if err := f.sendFrame(h, piece[done+frameHeaderBytes:next], max(skip, 0)); err != nil {
				return err
			}
		}
		f.at.seen[h.stream] = h.offset + h.length
		done = next
	}
	if done == 0 {
		return errBroken
	}
	f.at.position += done
	return nil
}

func (f *Follower) sendFrame(h frameHeader, content []byte, skip int64) error {
	var header [frameHeaderBytes]byte
	putHeader(header[:], frameHeader{h.stream, h.atMs, h.offset + skip, h.length - skip})
	if _, err := f.Target.Write(header[:]); err != nil {
		return err
	}
	_, err := f.Target.Write(content[skip:])
	return err
}
