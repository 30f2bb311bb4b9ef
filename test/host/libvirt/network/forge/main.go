// Command forge sends arbitrary frames, and prints received ones. Only for tests.
//
//	forge send IFACE     sends each line of standard input, "COUNT HEX", at once; a digit ? varies
//	forge flood IFACE    sends all lines, repeatedly, until it is killed
//	forge listen IFACE   prints "ready", then every incoming frame, in hex
//	forge knock FILE     prints lines of the file, HOST:PORT, that answer to TCP, also with a refusal
package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ETH_P_ALL in network byte order.
const allProtocols = 0x0300

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(mode, name string) error {
	if mode == "knock" {
		return knock(name)
	}
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	socket, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, allProtocols)
	if err != nil {
		return err
	}
	address := &syscall.SockaddrLinklayer{Protocol: allProtocols, Ifindex: iface.Index}
	if err := syscall.Bind(socket, address); err != nil {
		return err
	}
	if mode == "listen" {
		return listen(socket)
	}
	var frames []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if mode == "flood" {
			frames = append(frames, lines.Text())
		} else if err := send(socket, address, lines.Text()); err != nil {
			return err
		}
	}
	for mode == "flood" {
		for _, line := range frames {
			if err := send(socket, address, line); err != nil {
				return err
			}
		}
	}
	return nil
}

func send(socket int, to syscall.Sockaddr, line string) error {
	number, template, _ := strings.Cut(line, " ")
	count, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	for range count {
		frame, err := hex.DecodeString(filled(template))
		if err != nil {
			return err
		}
		// a flood may fill the queue
		if err := syscall.Sendto(socket, frame, 0, to); err != nil && err != syscall.ENOBUFS {
			return err
		}
	}
	return nil
}

func filled(template string) string {
	digits := []byte(template)
	for i, digit := range digits {
		if digit == '?' {
			digits[i] = "0123456789abcdef"[rand.IntN(16)]
		}
	}
	return string(digits)
}

func listen(socket int) error {
	fmt.Println("ready")
	frame := make([]byte, 65536)
	for {
		length, from, err := syscall.Recvfrom(socket, frame, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if link, ok := from.(*syscall.SockaddrLinklayer); ok && link.Pkttype != syscall.PACKET_OUTGOING {
			fmt.Println(hex.EncodeToString(frame[:length]))
		}
	}
}

// answerTime is the timeout of an answer from the other end of a cable.
const answerTime = 2 * time.Second

func knock(name string) error {
	list, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var doors sync.WaitGroup
	for _, door := range strings.Fields(string(list)) {
		doors.Go(func() {
			connection, err := net.DialTimeout("tcp", door, answerTime)
			if err == nil {
				connection.Close()
			}
			if err == nil || errors.Is(err, syscall.ECONNREFUSED) {
				fmt.Println(door)
			}
		})
	}
	doors.Wait()
	return nil
}
