package tree

import "mayfly/diff/fault"

const chunkBits = 20

// Names stores many short names without an allocation each; both trees share it and its limit.
type Names struct {
	chunks [][]byte
	left   int
}

// NewNames stores at most this many bytes.
func NewNames(bytes int) *Names { return &Names{left: bytes} }

func (n *Names) add(name []byte) (uint32, error) {
	if n.left -= len(name); n.left < 0 {
		return 0, fault.New(fault.Limit, "the names of all files take too much memory")
	}
	last := len(n.chunks) - 1
	if last < 0 || len(n.chunks[last])+len(name) > cap(n.chunks[last]) {
		n.chunks = append(n.chunks, make([]byte, 0, 1<<chunkBits))
		last++
	}
	at := uint32(last<<chunkBits | len(n.chunks[last]))
	n.chunks[last] = append(n.chunks[last], name...)
	return at, nil
}

func (n *Names) get(at uint32, length uint8) []byte {
	offset := at & (1<<chunkBits - 1)
	return n.chunks[at>>chunkBits][offset : offset+uint32(length)]
}
