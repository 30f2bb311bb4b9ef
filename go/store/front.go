package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// goodbye is the time that a shutdown gives a client to read its last reply.
const goodbye = 5 * time.Second

// Front accepts MongoDB clients and forwards their requests to a backend, those that may write one at a time.
//
// FerretDB on SQLite reads a document, changes it and writes it back without a lock, so one of two concurrent
// updates is lost. A single writer makes $inc, findOneAndUpdate and unique inserts as atomic as clients expect.
// Read-only requests run concurrently: SQLite gives each query a snapshot of the data.
//
// A write is answered after settle has made it durable, while the next one may run already.
//
// Every client has its own backend connection, because cursors belong to connections.
type Front struct {
	dial   func(ctx context.Context) (net.Conn, error)
	settle func() error
	log    *slog.Logger

	// turn is held by a request that may write, from its first byte to the last byte of the backend's reply.
	turn sync.Mutex

	clients  sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	stopping bool
}

// NewFront returns a front for the backend of dial; settle makes all earlier writes durable.
func NewFront(dial func(ctx context.Context) (net.Conn, error), settle func() error, log *slog.Logger) *Front {
	return &Front{dial: dial, settle: settle, log: log, open: map[net.Conn]struct{}{}}
}

// Serve accepts clients until ctx is cancelled; then it completes and answers every request in flight, and returns.
func (f *Front) Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() {
		listener.Close()
		f.hangUp()
	})
	defer stop()

	for {
		client, err := listener.Accept()
		if ctx.Err() != nil {
			if client != nil {
				client.Close()
			}
			f.clients.Wait()
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot accept clients any more: %w", err)
		}
		f.clients.Add(1)
		go func() {
			defer f.clients.Done()
			defer client.Close()
			f.attend(ctx, client)
		}()
	}
}

// hangUp makes every client's next read fail, but allows the reply to its last request.
func (f *Front) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopping = true
	for client := range f.open {
		f.sayGoodbye(client)
	}
}

func (f *Front) sayGoodbye(client net.Conn) {
	if err := errors.Join(client.SetReadDeadline(time.Now()), client.SetWriteDeadline(time.Now().Add(goodbye))); err != nil {
		f.log.Warn("cannot hang up on a client", "client", client.RemoteAddr(), "error", err)
	}
}

func (f *Front) remember(client net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[client] = struct{}{}
	if f.stopping {
		f.sayGoodbye(client)
	}
}

func (f *Front) forget(client net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, client)
}

// attend serves one client until it disconnects, sends an invalid request, or the front stops.
func (f *Front) attend(ctx context.Context, client net.Conn) {
	f.remember(client)
	defer f.forget(client)
	log := f.log.With("client", client.RemoteAddr().String())

	backend, err := f.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			log.Error("closing a client's connection: the database cannot be reached", "error", err)
		}
		return
	}
	defer backend.Close()

	for {
		request, err := readFrame(client, opMsg, opQuery)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err != nil:
			log.Warn("closing a client's connection", "error", err)
			return
		}

		replies, err := f.answer(backend, request)
		if err != nil {
			log.Error("closing a client's connection: the database gave no answer", "error", err)
			return
		}
		// The database answers every message; a client that announced not to read would take the reply for one to
		// its next request.
		if request.moreToCome() {
			continue
		}
		for _, reply := range replies {
			if _, err := client.Write(reply); err != nil {
				log.Warn("a client left before its answer", "error", err)
				return
			}
		}
	}
}

// answer runs a request that may write exclusively, and returns its replies once the write is durable.
func (f *Front) answer(backend net.Conn, request frame) ([]frame, error) {
	if request.onlyReads() {
		return exchange(backend, request)
	}
	f.turn.Lock()
	replies, err := exchange(backend, request)
	f.turn.Unlock()
	if err != nil {
		return nil, err
	}
	return replies, f.settle()
}

// exchange sends one request and reads its replies; only a request that allows exhaust may have several.
func exchange(backend net.Conn, request frame) ([]frame, error) {
	if _, err := backend.Write(request); err != nil {
		return nil, err
	}
	var replies []frame
	answerTo := request.requestID()
	for {
		reply, err := readFrame(backend, opMsg, opReply)
		if err != nil {
			return nil, err
		}
		if reply.responseTo() != answerTo {
			return nil, fmt.Errorf("%w: answer to request %d where one to %d is due", errBadFrame, reply.responseTo(), answerTo)
		}
		replies = append(replies, reply)
		if !reply.moreToCome() {
			return replies, nil
		}
		// In an exhaust stream each reply refers to the previous one.
		answerTo = reply.requestID()
	}
}
