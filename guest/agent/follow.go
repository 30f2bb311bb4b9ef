package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"
)

// follower sends a log from wanted offsets on, and goes on as long as it grows.
type follower struct {
	log    *frameLog
	file   *os.File
	target io.Writer
	flush  func()
	wanted [streamCount]int64
	at     place
}

var errBroken = errors.New("the log of the command is broken")

// sendBytes is how much of a log is sent at once; longer than any frame.
const sendBytes = 256 << 10

var sendBuffers = sync.Pool{New: func() any { b := make([]byte, sendBytes); return &b }}

// pace is the least time between what is sent at once and what is sent next. A program that prints line by line would
// otherwise cost a packet, an encryption and several switches of process for every line.
const pace = 10 * time.Millisecond

// run returns when everything was sent, or with the reason why not.
func (f *follower) run(ctx context.Context) error {
	f.at = f.log.before(f.wanted)
	f.flush()
	for {
		end, ended, changed := f.log.state()
		isNew := f.at.position < end
		for f.at.position < end {
			if err := f.send(end); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
		if isNew {
			f.flush()
			rest := time.NewTimer(pace)
			select {
			case <-rest.C:
			case <-f.log.over:
			case <-ctx.Done():
			}
			rest.Stop()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *follower) send(end int64) error {
	held := sendBuffers.Get().(*[]byte)
	defer sendBuffers.Put(held)
	piece := (*held)[:min(int64(len(*held)), end-f.at.position)]
	if _, err := f.file.ReadAt(piece, f.at.position); err != nil {
		return err
	}
	if !f.caughtUp() {
		return f.sift(piece)
	}
	// Everything from here on is wanted: no need to look at it.
	f.at.position += int64(len(piece))
	_, err := f.target.Write(piece)
	return err
}

func (f *follower) caughtUp() bool {
	return f.at.seen[streamStdout] >= f.wanted[streamStdout] && f.at.seen[streamStderr] >= f.wanted[streamStderr]
}

// sift sends what is wanted of a piece that begins with a frame, and stops where all that follows is wanted.
func (f *follower) sift(piece []byte) error {
	done := int64(0)
	for done+frameHeaderBytes <= int64(len(piece)) && !f.caughtUp() {
		h, ok := readHeader(piece[done:])
		if !ok {
			return errBroken
		}
		next := done + frameHeaderBytes + h.length
		if skip := f.wanted[h.stream] - h.offset; skip < h.length {
			if next > int64(len(piece)) {
				break
			}
			if err := f.sendFrame(h, piece[done+frameHeaderBytes:next], max(skip, 0)); err != nil {
				return err
			}
		}
		f.at.seen[h.stream] = h.offset + h.length
		done = next
	}
	if done == 0 {
		return errBroken
	}
	f.at.position += done
	return nil
}

func (f *follower) sendFrame(h frameHeader, content []byte, skip int64) error {
	var header [frameHeaderBytes]byte
	putHeader(header[:], frameHeader{h.stream, h.atMs, h.offset + skip, h.length - skip})
	if _, err := f.target.Write(header[:]); err != nil {
		return err
	}
	_, err := f.target.Write(content[skip:])
	return err
}

// output answers with a command's frames and follows it to its end.
func (s *service) output(w http.ResponseWriter, r *http.Request) {
	id, wanted, err := outputRequest(r)
	if err == nil {
		err = s.sendOutput(w, r, http.StatusOK, id, wanted)
	}
	if err != nil {
		answerError(w, err)
	}
}

// sendOutput fails as long as nothing was sent; later it breaks the answer off.
func (s *service) sendOutput(w http.ResponseWriter, r *http.Request, status int, id string, wanted [streamCount]int64) error {
	log, exitOf, err := s.openLog(id)
	if err != nil {
		return err
	}
	f := &follower{log: log, target: w, flush: flusher(w), wanted: wanted}
	if f.file, err = os.Open(s.markers.path(id, logFile)); err != nil {
		f.file = nil
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if exit := exitOf(); exit == nil || exit.Stdout.Kept > wanted[streamStdout] || exit.Stderr.Kept > wanted[streamStderr] {
			return refused("not_found", "The output of %s was deleted.", id)
		}
	}
	defer closeFile(f.file)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(status)
	if err := f.run(r.Context()); err != nil {
		// The answer has begun: only breaking it off tells that it is not whole.
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(endFrame(exitOf()))
	return nil
}

func endFrame(exit *commandExit) []byte {
	content, err := json.Marshal(exit)
	if err != nil {
		panic(err)
	}
	frame := make([]byte, frameHeaderBytes, frameHeaderBytes+len(content))
	putHeader(frame, frameHeader{streamEnd, uint64(time.Now().UnixMilli()), 0, int64(len(content))})
	return append(frame, content...)
}

// openLog is the log of a command that runs, or of one that has ended.
func (s *service) openLog(id string) (*frameLog, func() *commandExit, error) {
	if c := s.find(id); c != nil {
		return c.log, func() *commandExit { return c.view().Exit }, nil
	}
	view, err := s.ended(id)
	if err != nil {
		return nil, nil, err
	}
	log := &frameLog{ended: true}
	about, err := os.Stat(s.markers.path(id, logFile))
	if err == nil {
		log.end.position = about.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return log, func() *commandExit { return view.Exit }, nil
}
