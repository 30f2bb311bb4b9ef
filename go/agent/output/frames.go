// Package output stores output of commands as frames in a file, and streams it to followers.
package output

import (
	"encoding/binary"
	"time"
)

// The frames of model/sandbox/output-frame.ts: stream:u8 | at:u64 ms | offset:u64 | length:u32 | bytes, big-endian.
const (
	// streamEnd is the stream number of the final frame.
	streamEnd = 0

	frameHeaderBytes = 21
	// readBytes limits one read from a command, and so a frame without its header.
	readBytes = 64 << 10
	// indexEvery is the distance of indexed positions in a log.
	indexEvery = 1 << 20
)

// Numbers of the streams of a command.
const (
	Stdout = 1
	Stderr = 2
)

// Offsets is a byte count per stream, indexed by its number.
type Offsets [3]int64

// Summary is the number of bytes that a command wrote to a stream, and of those stored.
type Summary struct {
	Bytes int64 `json:"bytes"`
	Kept  int64 `json:"kept"`
}

type frameHeader struct {
	stream byte
	atMs   uint64
	offset int64
	length int64
}

func putHeader(target []byte, h frameHeader) {
	target[0] = h.stream
	binary.BigEndian.PutUint64(target[1:], h.atMs)
	binary.BigEndian.PutUint64(target[9:], uint64(h.offset))
	binary.BigEndian.PutUint32(target[17:], uint32(h.length))
}

// readHeader parses a header of the log; ok is false for an invalid one.
func readHeader(source []byte) (h frameHeader, ok bool) {
	h = frameHeader{
		stream: source[0],
		atMs:   binary.BigEndian.Uint64(source[1:]),
		offset: int64(binary.BigEndian.Uint64(source[9:])),
		length: int64(binary.BigEndian.Uint32(source[17:])),
	}
	ok = (h.stream == Stdout || h.stream == Stderr) && h.offset >= 0 && h.length > 0 && h.length <= readBytes
	return h, ok
}

// EndFrame returns the final frame, whose content is the command's exit.
func EndFrame(content []byte) []byte {
	frame := make([]byte, frameHeaderBytes, frameHeaderBytes+len(content))
	putHeader(frame, frameHeader{streamEnd, uint64(time.Now().UnixMilli()), 0, int64(len(content))})
	return append(frame, content...)
}
