// Package ports opens TCP connections to the guest's own loopback, each carried by the two bodies of one request.
package ports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/answer"
)

const (
	// sshPort is the port of the host's SSH, which only certificates open.
	sshPort  = 22
	dialTime = 5 * time.Second
	// readBytes is the size of one read from a program: a few SSH packets.
	readBytes = 128 << 10
)

// loopbacks are tried in this order. Programs that listen on all addresses answer at the first.
var loopbacks = []string{"127.0.0.1", "::1"}

// Register adds POST /v1/connect?port=N. The agent itself listens on no port.
func Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/connect", func(w http.ResponseWriter, r *http.Request) {
		port, err := portOf(r.URL.Query().Get("port"))
		if err != nil {
			answer.Error(w, err)
			return
		}
		connection, err := dial(r, port)
		if err != nil {
			answer.Error(w, err)
			return
		}
		if !carry(w, r, connection) {
			// The abort resets the stream, so that it does not look complete.
			panic(http.ErrAbortHandler)
		}
	})
}

func portOf(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, answer.Refused("invalid_request", "A port is a number from 1 to 65535.")
	}
	if port == sshPort {
		return 0, answer.Refused("port_refused", "Port %d is not passed on.", port)
	}
	return port, nil
}

func dial(r *http.Request, port int) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: dialTime}
	var first error
	for _, address := range loopbacks {
		connection, err := dialer.DialContext(r.Context(), "tcp", net.JoinHostPort(address, fmt.Sprint(port)))
		if err == nil {
			return connection.(*net.TCPConn), nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, answer.Refused("port_closed", "Port %d of 127.0.0.1 and ::1: %s.", port, cause(first))
}

// cause strips the address, which the message already has.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	var failed *net.OpError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// carry copies bytes both ways until both directions end, and reports whether both ended cleanly.
func carry(w http.ResponseWriter, r *http.Request, connection *net.TCPConn) bool {
	defer connection.Close()
	stop := reset(connection)
	in := make(chan error, 1)
	go func() {
		refused, err := receive(bufio.NewReaderSize(r.Body, readBytes), connection)
		if err != nil && !refused {
			stop()
		}
		in <- err
	}()
	_ = http.NewResponseController(w).Flush()
	err := send(w, connection)
	if err != nil {
		stop()
		// Unblocks the read of a body that may never end.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	return errors.Join(err, <-in) == nil
}

// reset returns a function that resets the connection, so that its program does not take the data for complete.
func reset(connection *net.TCPConn) func() {
	return sync.OnceFunc(func() {
		_ = connection.SetLinger(0)
		_ = connection.Close()
	})
}

// send copies the program's output until its end.
func send(w http.ResponseWriter, connection io.Reader) error {
	flush := http.NewResponseController(w).Flush
	piece := make([]byte, headerBytes+readBytes)
	for {
		n, err := connection.Read(piece[headerBytes:])
		if n > 0 {
			putLength(piece, n)
			if _, failed := w.Write(piece[:headerBytes+n]); failed != nil {
				return failed
			}
			if failed := flush(); failed != nil {
				return failed
			}
		}
		if err == io.EOF {
			putLength(piece, 0)
			_, err = w.Write(piece[:headerBytes])
			return errors.Join(err, flush())
		}
		if err != nil {
			return err
		}
	}
}

// receive copies the client's bytes until their end. refused is true when the program stopped reading: it may have
// answered already, and its output continues.
func receive(body *bufio.Reader, connection *net.TCPConn) (refused bool, err error) {
	for {
		left, err := readLength(body)
		if err != nil {
			return false, err
		}
		if left == 0 {
			// An error means that the program has disconnected.
			_ = connection.CloseWrite()
			return false, nil
		}
		for left > 0 {
			if _, err := body.Peek(1); err != nil {
				return false, err
			}
			piece, _ := body.Peek(min(body.Buffered(), left))
			if _, err := connection.Write(piece); err != nil {
				return true, err
			}
			_, _ = body.Discard(len(piece))
			left -= len(piece)
		}
	}
}
