package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Op codes of the MongoDB wire protocol that the store answers. A client that knows the wire version sends only
// OP_MSG; OP_QUERY carries the first hello of drivers that do not.
const (
	opReply int32 = 1
	opQuery int32 = 2004
	opMsg   int32 = 2013
)

const (
	headerLength = 16

	// maxFrameLength is maxMessageSizeBytes, the limit that hello announces.
	maxFrameLength = 48_000_000
)

// flagMoreToCome on a request means that the client reads no reply; on a reply, that another reply to the same
// request follows.
const flagMoreToCome uint32 = 1 << 1

// knownRequiredFlags are the defined bits 0-15 of OP_MSG: checksumPresent and moreToCome. The protocol requires a
// server to refuse other bits of that half; bits 16-31 (exhaustAllowed) are optional.
const knownRequiredFlags uint32 = 1<<0 | flagMoreToCome

// frame is a complete wire message: header and body, with unchanged bytes, which keeps a checksum valid.
type frame []byte

func (f frame) opCode() int32     { return int32(binary.LittleEndian.Uint32(f[12:])) }
func (f frame) requestID() int32  { return int32(binary.LittleEndian.Uint32(f[4:])) }
func (f frame) responseTo() int32 { return int32(binary.LittleEndian.Uint32(f[8:])) }

// moreToCome reports whether OP_MSG's flag of that name is set; other op codes have no such flag.
func (f frame) moreToCome() bool {
	return f.opCode() == opMsg && f.flags()&flagMoreToCome != 0
}

// flags returns the flag bits of an OP_MSG frame whose length readFrame has checked.
func (f frame) flags() uint32 { return binary.LittleEndian.Uint32(f[headerLength:]) }

// errBadFrame is wrapped by every error about a peer's bytes, as opposed to a lost connection.
var errBadFrame = errors.New("bad frame")

// readers are the read-only commands.
var readers = map[string]bool{
	"find": true, "getMore": true, "killCursors": true, "aggregate": true, "count": true, "distinct": true,
	"explain": true, "listCollections": true, "listIndexes": true,
	"hello": true, "isMaster": true, "ismaster": true, "ping": true, "buildInfo": true, "endSessions": true,
}

// onlyReads reports whether the request is read-only. (The backend has neither $out nor $merge, by which an
// aggregation would write.)
func (f frame) onlyReads() bool {
	return f.opCode() == opQuery || readers[f.command()]
}

// command returns the command name of an OP_MSG frame, the key of its document's first element; empty where the
// document is not the first section.
func (f frame) command() string {
	const kind = headerLength + 4
	const name = kind + 1 + 4 + 1 // after the document's length and the element's type
	if f.opCode() != opMsg || len(f) <= name || f[kind] != 0 {
		return ""
	}
	length := bytes.IndexByte(f[name:], 0)
	if length < 0 {
		return ""
	}
	return string(f[name : name+length])
}

// readFrame reads one message. It returns io.EOF only if the peer closed the connection between two messages.
func readFrame(r io.Reader, accepted ...int32) (frame, error) {
	var header [headerLength]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}

	length := int32(binary.LittleEndian.Uint32(header[:]))
	if length < headerLength || length > maxFrameLength {
		return nil, fmt.Errorf("%w: length %d is not between %d and %d", errBadFrame, length, headerLength, maxFrameLength)
	}
	if err := checkOpCode(frame(header[:]).opCode(), length, accepted); err != nil {
		return nil, err
	}

	f := make(frame, length)
	copy(f, header[:])
	if _, err := io.ReadFull(r, f[headerLength:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("message of %d bytes broke off: %w", length, err)
	}

	if f.opCode() == opMsg && f.flags()&0xffff&^knownRequiredFlags != 0 {
		return nil, fmt.Errorf("%w: OP_MSG has unknown required flags %#x", errBadFrame, f.flags())
	}
	return f, nil
}

// checkOpCode refuses unexpected op codes before their body is read.
func checkOpCode(code, length int32, accepted []int32) error {
	for _, a := range accepted {
		if code != a {
			continue
		}
		// The smallest OP_MSG has flag bits and the kind byte of one section.
		if code == opMsg && length < headerLength+5 {
			return fmt.Errorf("%w: OP_MSG of %d bytes has no section", errBadFrame, length)
		}
		return nil
	}
	return fmt.Errorf("%w: op code %d is not answered here", errBadFrame, code)
}
