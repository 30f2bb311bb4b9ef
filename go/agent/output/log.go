package output

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// place is a frame boundary in a log: its position, and the offset in each stream before it.
type place struct {
	position int64
	seen     Offsets
}

// Log stores a command's output as frames in a file, and wakes its followers.
type Log struct {
	mu      sync.Mutex
	file    *os.File
	limit   int64
	end     place
	written Offsets
	index   []place
	failure error
	ended   bool
	changed chan struct{}
	// over is closed when the log is complete.
	over chan struct{}
}

// NewLog stores output in an empty file, up to limit bytes per stream.
func NewLog(file *os.File, limit int64) *Log {
	return &Log{file: file, limit: limit, over: make(chan struct{})}
}

// EndedLog returns the log of an ended command: a file of size bytes.
func EndedLog(size int64) *Log {
	return &Log{ended: true, end: place{position: size}}
}

// append adds n bytes, which follow room for a header in buffer, up to the limit.
func (l *Log) append(stream byte, buffer []byte, n int) {
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
		// Half a frame would corrupt the rest: the log stops here, and the command's exit reports it.
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

// dropped counts bytes that were read from the command and discarded.
func (l *Log) dropped(stream byte, n int64) {
	l.mu.Lock()
	l.written[stream] += n
	l.mu.Unlock()
}

// full reports whether the log drops further bytes of a stream.
func (l *Log) full(stream byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != nil || l.end.seen[stream] >= l.limit
}

// Finish marks the log as complete.
func (l *Log) Finish() {
	l.mu.Lock()
	l.ended = true
	close(l.over)
	l.wake()
	l.mu.Unlock()
	_ = l.file.Close()
}

// state returns the end of the log, whether it is complete, and a channel that is closed when either changes.
func (l *Log) state() (end int64, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.end.position, l.ended, l.changed
}

// before returns the last indexed place at which neither stream exceeds the wanted offset.
func (l *Log) before(wanted Offsets) place {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := place{}
	for _, p := range l.index {
		if p.seen[Stdout] > wanted[Stdout] || p.seen[Stderr] > wanted[Stderr] {
			break
		}
		best = p
	}
	return best
}

// Lost returns why output could not be stored, or nil.
func (l *Log) Lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Summary returns the byte counts of a stream so far.
func (l *Log) Summary(stream byte) Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Summary{Bytes: l.written[stream], Kept: l.end.seen[stream]}
}

func (l *Log) lastIndexed() int64 {
	if len(l.index) == 0 {
		return 0
	}
	return l.index[len(l.index)-1].position
}

func (l *Log) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// CutLog truncates a log after its last complete frame, and creates an empty one where there is none.
func CutLog(path string) (Offsets, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return Offsets{}, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return Offsets{}, err
	}
	end := place{}
	header := make([]byte, frameHeaderBytes)
	for {
		if _, err := file.ReadAt(header, end.position); err == io.EOF {
			break
		} else if err != nil {
			return end.seen, err
		}
		h, ok := readHeader(header)
		next := end.position + frameHeaderBytes + h.length
		if !ok || h.offset != end.seen[h.stream] || next > about.Size() {
			break
		}
		end.position = next
		end.seen[h.stream] += h.length
	}
	return end.seen, file.Truncate(end.position)
}
