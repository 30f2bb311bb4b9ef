package main

import (
	"encoding/binary"
	"os"
	"sync"
	"time"
)

// The frames of model/sandbox/output-frame.ts: stream:u8 | at:u64 ms | offset:u64 | length:u32 | bytes, big-endian.
const (
	streamEnd    = 0
	streamStdout = 1
	streamStderr = 2
	streamCount  = 3

	frameHeaderBytes = 21
	// readBytes is how much is read from a command at once, and so the longest frame of a log without its header.
	readBytes = 64 << 10
	// indexEvery is the distance of the places in a log that can be found without reading what is before them.
	indexEvery = 1 << 20
)

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

// readHeader reads a header of our own log; ok is false when it cannot be one.
func readHeader(source []byte) (h frameHeader, ok bool) {
	h = frameHeader{
		stream: source[0],
		atMs:   binary.BigEndian.Uint64(source[1:]),
		offset: int64(binary.BigEndian.Uint64(source[9:])),
		length: int64(binary.BigEndian.Uint32(source[17:])),
	}
	ok = (h.stream == streamStdout || h.stream == streamStderr) && h.offset >= 0 && h.length > 0 && h.length <= readBytes
	return h, ok
}

// place is a frame boundary in a log: its position, and how much of each stream is before it.
type place struct {
	position int64
	seen     [streamCount]int64
}

// frameLog keeps what a command writes, as frames in a file. Its followers are woken when it grows.
type frameLog struct {
	mu      sync.Mutex
	file    *os.File
	limit   int64
	end     place
	written [streamCount]int64
	index   []place
	failure error
	ended   bool
	changed chan struct{}
	// over is closed when nothing will be added any more.
	over chan struct{}
}

// append adds n bytes that stand in buffer after room for a header, as far as the limit allows.
func (l *frameLog) append(stream byte, buffer []byte, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	offset := l.end.seen[stream]
	l.written[stream] += int64(n)
	kept := min(int64(n), l.limit-offset)
	if kept <= 0 || l.failure != nil {
		return
	}
	putHeader(buffer, frameHeader{stream, uint64(time.Now().UnixMilli()), offset, kept})
	frame := buffer[:frameHeaderBytes+kept]
	if _, err := l.file.WriteAt(frame, l.end.position); err != nil {
		// Half a frame would make all that follows unreadable: nothing more is kept, and the command's exit says so.
		l.failure = err
		_ = l.file.Truncate(l.end.position)
		return
	}
	l.end.position += int64(len(frame))
	l.end.seen[stream] += kept
	if l.end.position-l.lastIndexed() >= indexEvery {
		l.index = append(l.index, l.end)
	}
	l.wake()
}

// dropped counts bytes that were taken from the command and thrown away.
func (l *frameLog) dropped(stream byte, n int64) {
	l.mu.Lock()
	l.written[stream] += n
	l.mu.Unlock()
}

// full says that nothing more of a stream will be kept.
func (l *frameLog) full(stream byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != nil || l.end.seen[stream] >= l.limit
}

// finish says that nothing will be added any more.
func (l *frameLog) finish() {
	l.mu.Lock()
	l.ended = true
	close(l.over)
	l.wake()
	l.mu.Unlock()
	_ = l.file.Close()
}

// state is how far the log goes, whether that is all, and what is closed when either changes.
func (l *frameLog) state() (end int64, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.end.position, l.ended, l.changed
}

// before is the last known place at which neither stream is past what is wanted.
func (l *frameLog) before(wanted [streamCount]int64) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := place{}
	for _, p := range l.index {
		if p.seen[streamStdout] > wanted[streamStdout] || p.seen[streamStderr] > wanted[streamStderr] {
			break
		}
		best = p
	}
	return best
}

func (l *frameLog) summary(stream byte) streamSummary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return streamSummary{Bytes: l.written[stream], Kept: l.end.seen[stream]}
}

func (l *frameLog) lastIndexed() int64 {
	if len(l.index) == 0 {
		return 0
	}
	return l.index[len(l.index)-1].position
}

func (l *frameLog) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
