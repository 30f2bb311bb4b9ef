package ports

import (
	"encoding/binary"
	"errors"
	"io"
)

// A direction of a connection is pieces: four bytes of length, big-endian, and so many bytes. One of length 0 says that
// nothing more is written this way, as TCP's FIN does; a stream that ends without it was cut off. One of the greatest
// length means nothing and has no bytes.
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
