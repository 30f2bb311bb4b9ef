package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Op codes of the MongoDB wire protocol that the store answers. A client that was told our wire version sends
// OP_MSG only; OP_QUERY carries the very first hello of drivers that do not know that version yet.
const (
	opReply int32 = 1
	opQuery int32 = 2004
	opMsg   int32 = 2013
)

const (
	headerLength = 16

	// maxFrameLength is maxMessageSizeBytes, the bound that hello announces to every driver.
	maxFrameLength = 48_000_000
)

// flagMoreToCome on a request means that the client will not read a reply to it; on a reply it means
// that another reply to the same request follows.
const flagMoreToCome uint32 = 1 << 1

// knownRequiredFlags are the bits 0-15 of OP_MSG that have a meaning: checksumPresent and moreToCome.
// The protocol asks a server to refuse other bits of that half; bits 16-31 (exhaustAllowed) are optional.
const knownRequiredFlags uint32 = 1<<0 | flagMoreToCome

// frame is one whole wire message: header and body, kept as the bytes that came in,
// so that a checksum at its end stays right.
type frame []byte

func (f frame) opCode() int32     { return int32(binary.LittleEndian.Uint32(f[12:])) }
func (f frame) requestID() int32  { return int32(binary.LittleEndian.Uint32(f[4:])) }
func (f frame) responseTo() int32 { return int32(binary.LittleEndian.Uint32(f[8:])) }

// moreToCome says whether OP_MSG's flag of that name is set; other op codes have no such flag.
func (f frame) moreToCome() bool {
	return f.opCode() == opMsg && f.flags()&flagMoreToCome != 0
}

// flags are the flag bits of an OP_MSG frame whose length readFrame has checked.
func (f frame) flags() uint32 { return binary.LittleEndian.Uint32(f[headerLength:]) }

// errBadFrame is wrapped by every complaint about what a peer sent, as opposed to a lost connection.
var errBadFrame = errors.New("bad frame")

// readers are the commands that change nothing.
var readers = map[string]bool{
	"find": true, "getMore": true, "killCursors": true, "aggregate": true, "count": true, "distinct": true,
	"explain": true, "listCollections": true, "listIndexes": true,
	"hello": true, "isMaster": true, "ismaster": true, "ping": true, "buildInfo": true, "endSessions": true,
}

// onlyReads says whether the request is known to change nothing. (The backend has neither $out nor $merge, by which
// an aggregation would write.)
func (f frame) onlyReads() bool {
	return f.opCode() == opQuery || readers[f.command()]
}

// command is the name of the command in an OP_MSG frame, which is that of its document's first element; empty where
// the document is not the first section.
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

// readFrame reads one message. It returns io.EOF only when the peer closed between two messages.
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

// checkOpCode refuses messages the peer may not send here, before their body is read.
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
