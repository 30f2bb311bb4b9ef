package main

import (
	"bytes"
	"net"
	"os"
	"sync"
	"syscall"

	"mayfly/agent/commands"
)

// A connection begins with HTTP/2, or with this line and the version, and passes two descriptors that carry HTTP/2.
const (
	handover = "mayfly-handover "
	// Replies of the daemon: it has taken the descriptors, or exits in favour of the other version.
	taken  = 't'
	retire = 'r'
)

// listener accepts connections of a unix socket, and those that `connect` hands over.
type listener struct {
	socket      *net.UnixListener
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
	service     *commands.Service
	retire      func()

	mu     sync.Mutex
	handed int
}

// listen creates a socket for root and the login user's group.
func listen(path string, group int, s *commands.Service) (*listener, error) {
	_ = os.Remove(path)
	old := syscall.Umask(0o177)
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		err = os.Chown(path, 0, group)
	}
	if err == nil {
		err = os.Chmod(path, 0o660)
	}
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	l := &listener{socket: socket, connections: make(chan net.Conn), closed: make(chan struct{}), service: s}
	go l.acceptAll()
	return l, nil
}

func (l *listener) acceptAll() {
	for {
		connection, err := l.socket.AcceptUnix()
		if err != nil {
			_ = l.Close()
			return
		}
		go l.greet(connection)
	}
}

// greet reads the first bytes of a connection, with passed descriptors.
func (l *listener) greet(connection *net.UnixConn) {
	first := make([]byte, 256)
	rights := make([]byte, syscall.CmsgSpace(2*4))
	n, rightsLength, _, _, err := connection.ReadMsgUnix(first, rights)
	if err != nil || n == 0 {
		_ = connection.Close()
		return
	}
	descriptors := received(rights[:rightsLength])
	theirs, isHandover := bytes.CutPrefix(first[:n], []byte(handover))
	if !isHandover || len(descriptors) != 2 {
		for _, file := range descriptors {
			_ = file.Close()
		}
		l.give(&begunConn{UnixConn: connection, first: first[:n]})
		return
	}
	pair := &handedConn{in: descriptors[0], out: descriptors[1], UnixConn: connection, done: l.handedBack}
	if string(theirs) != version && l.idle() {
		_, _ = connection.Write([]byte{retire})
		l.retire()
		_ = pair.Close()
		return
	}
	l.mu.Lock()
	l.handed++
	l.mu.Unlock()
	if _, err := connection.Write([]byte{taken}); err != nil {
		_ = pair.Close()
		return
	}
	l.give(pair)
}

// idle reports whether the daemon has neither commands nor handed-over connections.
func (l *listener) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handed == 0 && l.service.Count() == 0
}

func (l *listener) handedBack() {
	l.mu.Lock()
	l.handed--
	l.mu.Unlock()
}

func (l *listener) give(connection net.Conn) {
	select {
	case l.connections <- connection:
	case <-l.closed:
		_ = connection.Close()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		_ = l.socket.Close()
	})
	return nil
}

func (l *listener) Addr() net.Addr { return l.socket.Addr() }

// received returns the descriptors of a message, in non-blocking mode.
func received(rights []byte) []*os.File {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	var files []*os.File
	for i := range messages {
		descriptors, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range descriptors {
			syscall.CloseOnExec(fd)
			_ = syscall.SetNonblock(fd, true)
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return files
}
