package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestFlushBeginsAfterWhatItIsFor(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	flushes := 0
	flusher := NewFlusher(func() error {
		flushes++
		begun <- struct{}{}
		<-release
		return nil
	})
	var waiting sync.WaitGroup
	wait := func() {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			if err := flusher.Wait(); err != nil {
				t.Error(err)
			}
		}()
	}
	wait()
	<-begun
	for range 50 {
		wait() // they came after the first flush began, so it is none of theirs
	}
	release <- struct{}{}
	<-begun
	release <- struct{}{}
	done := make(chan struct{})
	go func() {
		waiting.Wait()
		close(done)
	}()
	for isDone := false; !isDone; { // whoever was late to ask has a flush more
		select {
		case <-begun:
			release <- struct{}{}
		case <-done:
			isDone = true
		}
	}
	if flushes < 2 || flushes > 51 {
		t.Fatalf("%d flushes", flushes)
	}
}

func TestFailedFlushIsForGood(t *testing.T) {
	failure := errors.New("no")
	flushes := 0
	flusher := NewFlusher(func() error {
		flushes++
		return failure
	})
	for range 2 {
		if err := flusher.Wait(); !errors.Is(err, failure) {
			t.Fatalf("got %v", err)
		}
	}
	if flushes != 1 {
		t.Fatalf("%d flushes, want 1: what one failed to write, none after it writes", flushes)
	}
}

func TestLogFlushTakesLogsThatComeAndGo(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "a.sqlite-wal")
	flush := logFlush(dir)
	for range 2 {
		if err := flush(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(log, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := flush(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	if err := flushFile(filepath.Join(dir, "none.sqlite-wal"), nil); err != nil {
		t.Fatal(err)
	}
}
