package ports

import (
	"encoding/binary"
	"errors"
	"io"
)

// Each direction of a connection is a sequence of pieces: a length in four bytes, big-endian, and that many bytes.
// Length 0 ends the direction, like TCP's FIN; a stream that ends without it was cut off. The maximum length is a
// no-op without bytes.
const (
	headerBytes   = 4
	maxPieceBytes = 1 << 20
	nothing       = 1<<32 - 1
)

var errPiece = errors.New("a piece is longer than any may be")

func putLength(target []byte, length int) {
	binary.BigEndian.PutUint32(target, uint32(length))
}

func readLength(source io.Reader) (int, error) {
	for {
		var header [headerBytes]byte
		if _, err := io.ReadFull(source, header[:]); err != nil {
			return 0, err
		}
		length := binary.BigEndian.Uint32(header[:])
		if length == nothing {
			continue
		}
		if length > maxPieceBytes {
			return 0, errPiece
		}
		return int(length), nil
	}
}
