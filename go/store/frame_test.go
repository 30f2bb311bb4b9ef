package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// message returns a frame; tests that need a wrong length change it afterwards.
func message(code, requestID, responseTo int32, body ...byte) frame {
	f := make(frame, headerLength, headerLength+len(body))
	binary.LittleEndian.PutUint32(f[0:], uint32(headerLength+len(body)))
	binary.LittleEndian.PutUint32(f[4:], uint32(requestID))
	binary.LittleEndian.PutUint32(f[8:], uint32(responseTo))
	binary.LittleEndian.PutUint32(f[12:], uint32(code))
	return append(f, body...)
}

// opMsgBody returns flag bits, then one section of kind 0 with an empty document, then the tail that the flags
// require.
func opMsgBody(flags uint32, tail ...byte) []byte {
	body := binary.LittleEndian.AppendUint32(nil, flags)
	return append(append(body, 0, 5, 0, 0, 0, 0), tail...)
}

func TestReadFrameKeepsEveryByte(t *testing.T) {
	const checksumPresent, exhaustAllowed = 1 << 0, 1 << 16
	for name, want := range map[string]frame{
		"plain":                 message(opMsg, 7, 0, opMsgBody(0)...),
		"with a checksum":       message(opMsg, 7, 0, opMsgBody(checksumPresent, 1, 2, 3, 4)...),
		"with exhaustAllowed":   message(opMsg, 7, 0, opMsgBody(exhaustAllowed)...),
		"the hello of old":      message(opQuery, 7, 0, 0, 0, 0, 0),
		"optional bits unknown": message(opMsg, 7, 0, opMsgBody(1<<30)...),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readFrame(bytes.NewReader(want), opMsg, opQuery)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %x, %v; want %x", got, err, want)
			}
		})
	}
}

func TestReadFrameRefuses(t *testing.T) {
	long := message(opMsg, 1, 0, opMsgBody(0)...)
	binary.LittleEndian.PutUint32(long, maxFrameLength+1)
	short := message(opMsg, 1, 0, opMsgBody(0)...)
	binary.LittleEndian.PutUint32(short, headerLength-1)
	negative := message(opMsg, 1, 0, opMsgBody(0)...)
	binary.LittleEndian.PutUint32(negative, 1<<31)

	for name, test := range map[string]struct {
		sent frame
		says string
	}{
		"a message over the bound":    {long, "length 48000001"},
		"a message without a header":  {short, "length 15"},
		"a negative length":           {negative, "length -2147483648"},
		"a compressed message":        {message(2012, 1, 0, 0, 0, 0, 0), "op code 2012"},
		"a reply":                     {message(opReply, 1, 0, 0, 0, 0, 0), "op code 1 "},
		"an OP_MSG without a section": {message(opMsg, 1, 0, 0, 0, 0, 0), "no section"},
		"an unknown required flag":    {message(opMsg, 1, 0, opMsgBody(1<<5)...), "flags 0x20"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readFrame(bytes.NewReader(test.sent), opMsg, opQuery)
			if !errors.Is(err, errBadFrame) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %v, want a bad frame saying %q", err, test.says)
			}
		})
	}
}

func TestReadFrameTellsAnEndFromABreak(t *testing.T) {
	whole := message(opMsg, 1, 0, opMsgBody(0)...)
	if _, err := readFrame(bytes.NewReader(nil), opMsg); !errors.Is(err, io.EOF) {
		t.Errorf("between messages: got %v, want EOF", err)
	}
	for _, cut := range []int{1, headerLength, headerLength + 1, len(whole) - 1} {
		if _, err := readFrame(bytes.NewReader(whole[:cut]), opMsg); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: got %v, want an unexpected EOF", cut, err)
		}
	}
}
