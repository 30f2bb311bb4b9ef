package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// start runs a front whose backend is handle, one goroutine per connection. It returns its address, its log, and a
// function that stops it and waits.
func start(t *testing.T, handle func(net.Conn)) (address string, log *lockedBuffer, stop func()) {
	t.Helper()
	return startSettling(t, func() error { return nil }, handle)
}

func startSettling(t *testing.T, settle func() error, handle func(net.Conn)) (address string, log *lockedBuffer, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log = &lockedBuffer{}
	front := NewFront(func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go handle(far)
		return near, nil
	}, settle, slog.New(slog.NewTextHandler(log, nil)))

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- front.Serve(ctx, listener) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(goodbye):
			t.Error("the front did not stop")
		}
	})
	t.Cleanup(stop)
	return listener.Addr().String(), log, stop
}

// echo answers every message with the same body.
func echo(backend net.Conn) {
	for id := int32(1000); ; id++ {
		request, err := readFrame(backend, opMsg)
		if err != nil {
			return
		}
		body := bytes.Clone(request[headerLength:])
		binary.LittleEndian.PutUint32(body, 0)
		if _, err := backend.Write(message(opMsg, id, request.requestID(), body...)); err != nil {
			return
		}
	}
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := client.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return client
}

func send(t *testing.T, client net.Conn, f frame) {
	t.Helper()
	if _, err := client.Write(f); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, client net.Conn) frame {
	t.Helper()
	f, err := readFrame(client, opMsg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneWriteAtATime(t *testing.T) {
	var inside, most, answered atomic.Int32
	address, _, _ := start(t, func(backend net.Conn) {
		for {
			request, err := readFrame(backend, opMsg)
			if err != nil {
				return
			}
			if now := inside.Add(1); now > most.Load() {
				most.Store(now)
			}
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			if _, err := backend.Write(message(opMsg, 1, request.requestID(), opMsgBody(0)...)); err != nil {
				return
			}
		}
	})

	var clients sync.WaitGroup
	for range 20 {
		client := connect(t, address)
		clients.Add(1)
		go func() {
			defer clients.Done()
			for id := range int32(10) {
				if _, err := client.Write(message(opMsg, id, 0, opMsgBody(0)...)); err != nil {
					t.Error(err)
					return
				}
				if _, err := readFrame(client, opMsg); err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		}()
	}
	clients.Wait()
	if most.Load() != 1 || answered.Load() != 200 {
		t.Fatalf("%d requests answered, up to %d in the backend at once; want 200 and 1", answered.Load(), most.Load())
	}
}

func TestUnacknowledgedRequestGetsNoReply(t *testing.T) {
	address, _, _ := start(t, echo)
	client := connect(t, address)
	send(t, client, message(opMsg, 1, 0, opMsgBody(flagMoreToCome)...))
	send(t, client, message(opMsg, 2, 0, opMsgBody(0)...))
	if reply := receive(t, client); reply.responseTo() != 2 {
		t.Fatalf("the first reply answers request %d, want 2", reply.responseTo())
	}
}

func TestExhaustStreamIsPassedOnWhole(t *testing.T) {
	address, _, _ := start(t, func(backend net.Conn) {
		request, err := readFrame(backend, opMsg)
		if err != nil {
			return
		}
		answerTo := request.requestID()
		for i, flags := range []uint32{flagMoreToCome, flagMoreToCome, 0} {
			id := int32(50 + i)
			if _, err := backend.Write(message(opMsg, id, answerTo, opMsgBody(flags)...)); err != nil {
				return
			}
			answerTo = id
		}
		echo(backend)
	})
	client := connect(t, address)
	send(t, client, message(opMsg, 1, 0, opMsgBody(1<<16)...))
	for _, want := range []int32{1, 50, 51} {
		if reply := receive(t, client); reply.responseTo() != want {
			t.Fatalf("reply to %d, want %d", reply.responseTo(), want)
		}
	}
	send(t, client, message(opMsg, 2, 0, opMsgBody(0)...))
	if reply := receive(t, client); reply.responseTo() != 2 {
		t.Fatalf("after the stream: reply to %d, want 2", reply.responseTo())
	}
}

func TestBadFrameClosesOnlyItsConnection(t *testing.T) {
	address, log, _ := start(t, echo)
	good, bad := connect(t, address), connect(t, address)
	send(t, bad, message(2012, 1, 0, 0, 0, 0, 0))
	if _, err := readFrame(bad, opMsg); err == nil {
		t.Fatal("a compressed message was answered")
	}
	send(t, good, message(opMsg, 1, 0, opMsgBody(0)...))
	receive(t, good)
	if !strings.Contains(log.String(), "op code 2012 is not answered here") {
		t.Fatalf("the log does not say why: %s", log)
	}
}

func TestStopAnswersTheRequestUnderWay(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	address, _, stop := start(t, func(backend net.Conn) {
		request, err := readFrame(backend, opMsg)
		if err != nil {
			return
		}
		close(reached)
		<-release
		_, _ = backend.Write(message(opMsg, 1, request.requestID(), opMsgBody(0)...))
	})
	client := connect(t, address)
	send(t, client, message(opMsg, 9, 0, opMsgBody(0)...))
	<-reached
	go stop()
	time.Sleep(20 * time.Millisecond)
	close(release)
	if reply := receive(t, client); reply.responseTo() != 9 {
		t.Fatalf("reply to %d, want 9", reply.responseTo())
	}
}

// lockedBuffer is a log that the test may read during writes.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
