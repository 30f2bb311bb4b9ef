package main

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// command returns a request whose document begins with that element.
func command(requestID int32, name string) frame {
	document := append([]byte{0, 0, 0, 0, 0x10}, name...)
	document = append(document, 0, 1, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(document, uint32(len(document)))
	return message(opMsg, requestID, 0, append([]byte{0, 0, 0, 0, 0}, document...)...)
}

func TestReadPassesBesideAWrite(t *testing.T) {
	writing, release := make(chan struct{}), make(chan struct{})
	address, _, _ := start(t, func(backend net.Conn) {
		for {
			request, err := readFrame(backend, opMsg)
			if err != nil {
				return
			}
			if request.command() == "update" {
				close(writing)
				<-release
			}
			if _, err := backend.Write(message(opMsg, 1, request.requestID(), opMsgBody(0)...)); err != nil {
				return
			}
		}
	})
	writer, reader := connect(t, address), connect(t, address)
	send(t, writer, command(1, "update"))
	<-writing
	send(t, reader, command(2, "find"))
	receive(t, reader)
	close(release)
	receive(t, writer)
}

func TestWriteIsAnsweredWhenItIsSettled(t *testing.T) {
	settling, release := make(chan struct{}), make(chan struct{})
	settle := func() error {
		settling <- struct{}{}
		<-release
		return nil
	}
	address, _, _ := startSettling(t, settle, echo)
	first, second, reader := connect(t, address), connect(t, address), connect(t, address)
	send(t, first, command(1, "insert"))
	<-settling
	send(t, second, command(2, "insert"))
	<-settling // the second was let in while the first waits
	send(t, reader, command(3, "find"))
	receive(t, reader)
	if err := first.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := readFrame(first, opMsg); err == nil {
		t.Fatal("a write was answered before it was durable")
	}
	close(release)
	receive(t, second)
}

func TestWriteThatCannotBeSettledIsNotAnswered(t *testing.T) {
	address, log, _ := startSettling(t, func() error { return errors.New("the disk is gone") }, echo)
	client := connect(t, address)
	send(t, client, command(1, "insert"))
	if _, err := readFrame(client, opMsg); err == nil {
		t.Fatal("it was answered")
	}
	if !strings.Contains(log.String(), "the disk is gone") {
		t.Fatalf("the log does not say why: %s", log)
	}
}
