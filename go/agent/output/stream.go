package output

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Stream reads one output stream of a command.
type Stream struct {
	number byte
	file   *os.File
	log    *Log
}

// buffers are held only while there is something to read, so that silent commands cost none.
var buffers = sync.Pool{New: func() any { b := make([]byte, frameHeaderBytes+readBytes); return &b }}

// sink receives discarded output.
var sink *os.File

// OpenSink opens the sink; call it before any stream starts.
func OpenSink() (err error) {
	sink, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	return err
}

// NewStream reads the agent's end of a pipe, which it closes, into a log.
func NewStream(number byte, file *os.File, log *Log) *Stream {
	return &Stream{number, file, log}
}

// Take reads until the stream ends or Finish is called, then the rest of the pipe, and calls settled. While the
// other end stays open, it discards later output, so that no process is killed by SIGPIPE.
func (s *Stream) Take(settled func()) {
	defer s.file.Close()
	raw, err := s.file.SyscallConn()
	if err != nil {
		settled()
		return
	}
	open := true
	for open {
		var n int
		waited := raw.Read(func(fd uintptr) bool {
			n, err = s.read(int(fd), readBytes)
			return err != syscall.EAGAIN
		})
		if waited != nil {
			break
		}
		open = n > 0
	}
	if open {
		open = s.rest(raw)
	}
	settled()
	if !open {
		return
	}
	_ = s.file.SetReadDeadline(time.Time{})
	_ = raw.Read(func(fd uintptr) bool {
		for {
			n, err := discard(int(fd))
			if err == syscall.EAGAIN {
				return false
			}
			if n <= 0 {
				return true
			}
		}
	})
}

// Finish makes Take stop after the bytes that are in the pipe.
func (s *Stream) Finish() {
	_ = s.file.SetReadDeadline(time.Unix(1, 0))
}

// rest reads the bytes that are in the pipe now: another process may write on for ever. False at the stream's end.
func (s *Stream) rest(raw syscall.RawConn) (open bool) {
	open = true
	_ = raw.Control(func(fd uintptr) {
		left := waiting(int(fd))
		for {
			n, err := s.read(int(fd), max(1, min(left, readBytes)))
			if err == syscall.EAGAIN {
				return
			}
			if n <= 0 {
				open = false
				return
			}
			if left -= n; left <= 0 {
				return
			}
		}
	})
	return open
}

// read reads up to most available bytes without waiting.
func (s *Stream) read(fd, most int) (int, error) {
	if s.log.full(s.number) {
		n, err := discard(fd)
		if n > 0 {
			s.log.dropped(s.number, int64(n))
		}
		return n, err
	}
	held := buffers.Get().(*[]byte)
	defer buffers.Put(held)
	n, err := ignoringEINTR(func() (int, error) {
		return syscall.Read(fd, (*held)[frameHeaderBytes:frameHeaderBytes+most])
	})
	if n > 0 {
		s.log.append(s.number, *held, n)
	}
	return n, err
}

// discard empties a pipe without copying or waiting. The flags are SPLICE_F_MOVE and SPLICE_F_NONBLOCK.
func discard(fd int) (int, error) {
	return ignoringEINTR(func() (int, error) {
		n, err := syscall.Splice(fd, nil, int(sink.Fd()), nil, 1<<20, 3)
		return int(n), err
	})
}

// waiting returns the number of bytes in a pipe.
func waiting(fd int) int {
	const fionread = 0x541b
	var n int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), fionread, uintptr(unsafe.Pointer(&n)))
	if errno != 0 {
		return 0
	}
	return int(n)
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}
