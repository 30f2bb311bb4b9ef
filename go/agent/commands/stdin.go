package commands

import (
	"context"
	"io"
	"os"
	"time"

	"mayfly/agent/answer"
)

// standardInput is the pipe to a command. Its offset counts all bytes since the start, including those of the
// request.
type standardInput struct {
	// turn is a mutex of writers: a channel with capacity 1.
	turn     chan struct{}
	file     *os.File
	accepted int64
	closed   bool
}

// newStandardInput writes the input of the request, then closes the pipe unless it stays open.
func newStandardInput(file *os.File, given []byte, stays bool) *standardInput {
	in := &standardInput{turn: make(chan struct{}, 1), file: file, accepted: int64(len(given))}
	in.turn <- struct{}{}
	go func() {
		_, err := file.Write(given)
		if err != nil || !stays {
			in.shut()
		}
		<-in.turn
	}()
	return in
}

// add writes body, which must start at the accepted offset, and returns the new offset. It blocks until the command
// reads.
func (in *standardInput) add(ctx context.Context, offset int64, body io.Reader, last bool) (int64, error) {
	select {
	case in.turn <- struct{}{}:
		defer func() { <-in.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if offset != in.accepted {
		return 0, in.conflict("Standard input is at %d, not at %d.", in.accepted, offset)
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = in.file.SetWriteDeadline(time.Unix(1, 0))
		close(stopped)
	})
	defer func() {
		if !stop() {
			// Otherwise the deadline could be set after its reset, and fail all later writes.
			<-stopped
			_ = in.file.SetWriteDeadline(time.Time{})
		}
	}()
	if err := in.copy(body); err != nil {
		return in.accepted, err
	}
	if last {
		in.shut()
	}
	return in.accepted, nil
}

func (in *standardInput) copy(body io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, readErr := body.Read(buffer)
		if n > 0 && in.closed {
			return in.conflict("Standard input was closed at %d.", in.accepted)
		}
		if n > 0 {
			written, err := in.file.Write(buffer[:n])
			in.accepted += int64(written)
			if os.IsTimeout(err) {
				return context.Canceled
			}
			if err != nil {
				in.shut()
				return in.conflict("The command has closed its standard input; it took %d bytes.", in.accepted)
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

func (in *standardInput) conflict(format string, values ...any) error {
	r := answer.Refused("stdin_conflict", format, values...)
	offset := in.accepted
	r.Offset = &offset
	return r
}

// shut must be called by the holder of turn.
func (in *standardInput) shut() {
	in.closed = true
	_ = in.file.Close()
}

// abandon fails every write, because the command has ended.
func (in *standardInput) abandon() { _ = in.file.Close() }
