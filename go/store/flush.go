package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// writeAheadLogs matches the files to which SQLite writes commits; SQLite later moves them to the data files, and
// flushes those itself.
const writeAheadLogs = "*.sqlite-wal"

// Flusher makes committed writes durable, many with one flush: SQLite does not flush commits itself
// (synchronous=NORMAL), and each write is answered after a flush that began after its commit.
type Flusher struct {
	flush func() error

	// busy is held while a flush runs.
	busy sync.Mutex

	mu      sync.Mutex
	waiting *flushRound
	// failed is permanent: a later flush does not write the data that a failed one missed.
	failed error
}

// flushRound is one flush with its waiters.
type flushRound struct {
	done chan struct{}
	err  error
}

// NewFlusher returns a flusher; flush makes all earlier writes durable.
func NewFlusher(flush func() error) *Flusher {
	return &Flusher{flush: flush}
}

// Wait returns when all commits before the call are durable.
func (f *Flusher) Wait() error {
	f.mu.Lock()
	if f.waiting == nil {
		f.waiting = &flushRound{done: make(chan struct{})}
		go f.run(f.waiting)
	}
	round := f.waiting
	f.mu.Unlock()
	<-round.done
	return round.err
}

func (f *Flusher) run(round *flushRound) {
	f.busy.Lock()
	defer f.busy.Unlock()
	defer close(round.done)

	f.mu.Lock()
	f.waiting = nil // whoever comes from here on may have committed after this flush began
	round.err = f.failed
	f.mu.Unlock()
	if round.err != nil {
		return
	}
	if round.err = f.flush(); round.err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = round.err
}

// logFlush returns a function that flushes the write-ahead logs of a folder, and the folder for new ones. Calls
// must not overlap.
func logFlush(dir string) func() error {
	known := map[string]bool{}
	return func() error {
		logs, err := filepath.Glob(filepath.Join(dir, writeAheadLogs))
		if err != nil {
			return err
		}
		for _, name := range logs {
			if err := flushFile(name, syscall.Fdatasync); err != nil {
				return err
			}
			if known[name] {
				continue
			}
			if err := flushFile(dir, syscall.Fsync); err != nil {
				return err
			}
			known[name] = true
		}
		return nil
	}
}

// flushFile may open a log of SQLite: unlike data files, logs carry no locks that a close would drop.
func flushFile(name string, flush func(fd int) error) error {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // its database was closed, which moved its content to the data file
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := flush(int(file.Fd())); err != nil {
		return fmt.Errorf("cannot flush %s to the disk: %w", name, err)
	}
	return nil
}
