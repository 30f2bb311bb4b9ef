package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const lostReason = "The agent in the guest ended, or the guest was restarted, while the command ran: what became of it is not known."

// recover settles what an agent before this one has left without an exit. It is called before anybody is listened to.
func (s *service) recover() error {
	entries, err := os.ReadDir(s.markers.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id := entry.Name()
		if !isCommandID(id) {
			continue
		}
		exit, err := s.markers.readExit(id)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mayfly-agent: the exit of %s cannot be read: %v\n", id, err)
		}
		if exit != nil && err == nil {
			continue
		}
		if err := s.settle(id); err != nil {
			return err
		}
	}
	return nil
}

// settle ends what still runs of a command, whose output nobody takes any more, and says that its outcome is unknown.
func (s *service) settle(id string) error {
	t := newTree(s.groups, id)
	for deadline := time.Now().Add(hopeless); !t.empty() && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		t.kill()
	}
	t.forget()

	reason := lostReason
	exit := &commandExit{Outcome: "unknown", EndedAt: stamp(time.Now()), Reason: &reason}
	if r, err := s.markers.readRequest(id); err == nil {
		exit.StartedAt = &r.StartedAt
	}
	end, err := cutLog(s.markers.path(id, logFile))
	if err != nil {
		return err
	}
	exit.Stdout = streamSummary{Bytes: end.seen[streamStdout], Kept: end.seen[streamStdout]}
	exit.Stderr = streamSummary{Bytes: end.seen[streamStderr], Kept: end.seen[streamStderr]}
	if err := s.markers.writeExit(id, exit); err != nil {
		return err
	}
	s.markers.secureExit(id)
	return nil
}

// cutLog removes what follows the last whole frame of a log, and makes an empty one where there is none.
func cutLog(path string) (place, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return place{}, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return place{}, err
	}
	end := place{}
	header := make([]byte, frameHeaderBytes)
	for {
		if _, err := file.ReadAt(header, end.position); err == io.EOF {
			break
		} else if err != nil {
			return end, err
		}
		h, ok := readHeader(header)
		next := end.position + frameHeaderBytes + h.length
		if !ok || h.offset != end.seen[h.stream] || next > about.Size() {
			break
		}
		end.position = next
		end.seen[h.stream] += h.length
	}
	return end, file.Truncate(end.position)
}
