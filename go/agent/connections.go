package main

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// begunConn is a connection whose first bytes have been read.
type begunConn struct {
	*net.UnixConn
	first []byte
}

func (c *begunConn) Read(target []byte) (int, error) {
	if len(c.first) == 0 {
		return c.UnixConn.Read(target)
	}
	n := copy(target, c.first)
	c.first = c.first[n:]
	return n, nil
}

// handedConn is the standard input and output of a `connect`, which lives until the agent closes its socket.
type handedConn struct {
	*net.UnixConn
	in, out *os.File
	once    sync.Once
	done    func()
}

func (c *handedConn) Read(target []byte) (int, error)  { return c.in.Read(target) }
func (c *handedConn) Write(source []byte) (int, error) { return c.out.Write(source) }

func (c *handedConn) Close() error {
	var err error
	c.once.Do(func() {
		err = errors.Join(c.in.Close(), c.out.Close(), c.UnixConn.Close())
		c.done()
	})
	return err
}

func (c *handedConn) SetDeadline(at time.Time) error {
	return errors.Join(c.in.SetReadDeadline(at), c.out.SetWriteDeadline(at))
}
func (c *handedConn) SetReadDeadline(at time.Time) error  { return c.in.SetReadDeadline(at) }
func (c *handedConn) SetWriteDeadline(at time.Time) error { return c.out.SetWriteDeadline(at) }
