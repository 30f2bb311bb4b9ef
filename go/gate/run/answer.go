package run

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"sync"
	"time"

	"mayfly/gate/check"
)

const (
	streamEnd    = 0
	streamStdout = 1
	streamStderr = 2

	frameHeaderBytes = 21
)

// Summary is the number of bytes of a stream.
type Summary struct {
	Bytes int64 `json:"bytes"` // read from the command
	Kept  int64 `json:"kept"`  // sent
}

// Fault is an error of a file operation, with a code of model/errors.ts.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// End is the last frame: a CommandExit (model/sandbox/command.ts), or why nothing ran.
type End struct {
	Outcome    string         `json:"outcome"` // exited, signaled, timed-out, not-started, unknown
	ExitCode   *int           `json:"exitCode"`
	Signal     *string        `json:"signal"`
	StartedAt  *time.Time     `json:"startedAt"`
	EndedAt    *time.Time     `json:"endedAt"`
	DurationMs int64          `json:"durationMs"`
	Stdout     Summary        `json:"stdout"`
	Stderr     Summary        `json:"stderr"`
	Truncated  bool           `json:"truncated"`
	Reason     *string        `json:"reason"`
	Refusal    *check.Refusal `json:"refusal"`
	Error      *Fault         `json:"error"`
	File       *Entry         `json:"file"`
}

func (e *End) because(reason string) *End {
	e.Reason = &reason
	return e
}

// Answer writes frames (model/sandbox/output-frame.ts): stream:u8 | at:u64 ms | offset:u64 | length:u32 | bytes, big-endian.
type Answer struct {
	mutex  sync.Mutex
	out    io.Writer
	limit  int64 // of each stream
	totals [3]Summary
	failed error
	start  time.Time
}

// NewAnswer starts an answer; limit is in bytes per stream.
func NewAnswer(out io.Writer, limit int64) *Answer {
	return &Answer{out: out, limit: limit, start: time.Now()}
}

// Add sends bytes of a stream; false when the stream is full, or the client has disconnected.
func (a *Answer) Add(stream int, data []byte) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	total := &a.totals[stream]
	total.Bytes += int64(len(data))
	kept := min(int64(len(data)), a.limit-total.Kept)
	if kept > 0 && a.failed == nil {
		a.write(stream, total.Kept, data[:kept])
		total.Kept += kept
	}
	return a.failed == nil && total.Bytes <= a.limit
}

func (a *Answer) write(stream int, offset int64, data []byte) {
	frame := make([]byte, frameHeaderBytes, frameHeaderBytes+len(data))
	frame[0] = byte(stream)
	binary.BigEndian.PutUint64(frame[1:], uint64(time.Now().UnixMilli()))
	binary.BigEndian.PutUint64(frame[9:], uint64(offset))
	binary.BigEndian.PutUint32(frame[17:], uint32(len(data)))
	_, a.failed = a.out.Write(append(frame, data...))
}

// Finish sends the final frame.
func (a *Answer) Finish(end *End) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := time.Now().UTC()
	end.Stdout, end.Stderr = a.totals[streamStdout], a.totals[streamStderr]
	end.Truncated = end.Stdout.Kept < end.Stdout.Bytes || end.Stderr.Kept < end.Stderr.Bytes
	end.DurationMs = now.Sub(a.start).Milliseconds()
	if end.Outcome != "not-started" {
		start := a.start.UTC()
		end.StartedAt, end.EndedAt = &start, &now
	}
	data, err := json.Marshal(end)
	if err != nil {
		return err
	}
	if a.failed == nil {
		a.write(streamEnd, 0, data)
	}
	return a.failed
}

// Full reports whether a stream exceeds the limit.
func (a *Answer) Full() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.totals[streamStdout].Bytes > a.limit || a.totals[streamStderr].Bytes > a.limit
}
