package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"mayfly/agent/accounts"
)

// exitOtherVersion makes the host install its own agent.
const exitOtherVersion = 3

// connect hands its standard input and output to the daemon, and waits until the daemon closes them.
func connect(arguments []string) int {
	var o settings
	flags := flag.NewFlagSet("connect", flag.ExitOnError)
	o.declare(flags)
	wanted := flags.String("version", version, "the only version that may answer")
	_ = flags.Parse(arguments)
	if *wanted != version {
		fmt.Fprintf(os.Stderr, "mayfly-agent: this is version %s, not %s\n", version, *wanted)
		return exitOtherVersion
	}
	if err := o.handOver(); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-agent:", err)
		return 1
	}
	return 0
}

func (o *settings) handOver() error {
	// A daemon that retires is replaced, at most twice.
	for range 3 {
		connection, err := o.dial()
		if err != nil {
			return err
		}
		answer, err := offer(connection)
		if err == nil && answer == taken {
			// The connection carries no data: it ends when the daemon closes the descriptors.
			_, _ = io.Copy(io.Discard, connection)
			return nil
		}
		_ = connection.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return errors.New("the daemon does not take the connection")
}

func offer(connection *net.UnixConn) (byte, error) {
	rights := syscall.UnixRights(0, 1)
	if _, _, err := connection.WriteMsgUnix([]byte(handover+version), rights, nil); err != nil {
		return 0, err
	}
	answer := make([]byte, 1)
	_, err := io.ReadFull(connection, answer)
	return answer[0], err
}

// dial connects to the daemon, and starts one when none listens.
func (o *settings) dial() (*net.UnixConn, error) {
	address := &net.UnixAddr{Name: o.socket, Net: "unix"}
	connection, err := net.DialUnix("unix", nil, address)
	if err == nil || !isAbsent(err) {
		return connection, err
	}
	if err := o.startAsRoot(); err != nil {
		return nil, err
	}
	return net.DialUnix("unix", nil, address)
}

func isAbsent(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
}

func (o *settings) arguments(verb string) []string {
	return []string{verb, "--socket", o.socket, "--state", o.state, "--user", o.user, "--cgroup", o.groups}
}

// startAsRoot runs `mayfly-agent start`, by sudo unless already root; the current user is the default login user.
func (o *settings) startAsRoot() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if o.user == "" {
		me, err := accounts.WithID(os.Getuid())
		if err != nil {
			return err
		}
		o.user = me.Name
	}
	argv := append([]string{own}, o.arguments("start")...)
	if os.Getuid() != 0 {
		argv = append([]string{"sudo", "-n", "--"}, argv...)
	}
	starter := exec.Command(argv[0], argv[1:]...)
	said, err := starter.CombinedOutput()
	if err != nil {
		return fmt.Errorf("no daemon runs, and %s cannot start one: %w: %s", argv[0], err, bytes.TrimSpace(said))
	}
	return nil
}

// startDaemon starts a daemon in its own session, and returns when it accepts connections.
func startDaemon(arguments []string) int {
	var o settings
	flags := flag.NewFlagSet("start", flag.ExitOnError)
	o.declare(flags)
	_ = flags.Parse(arguments)
	if err := o.start(); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-agent:", err)
		return 1
	}
	return 0
}

func (o *settings) start() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	daemon := exec.Command(own, append(o.arguments("serve"), "--ready")...)
	daemon.Dir = "/"
	daemon.ExtraFiles = []*os.File{writer}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = daemon.Start()
	_ = writer.Close()
	if err != nil {
		return err
	}
	said, err := io.ReadAll(reader)
	if err == nil && string(said) != readyWord {
		err = fmt.Errorf("the daemon did not start: %s", said)
	}
	return err
}

const readyWord = "ready"

func (o *settings) sayReady() {
	if o.ready {
		file := os.NewFile(readyDescriptor, "ready")
		_, _ = file.WriteString(readyWord)
		_ = file.Close()
		o.ready = false
	}
}

// sayReadyWhenAnswered waits until the daemon with the lock accepts connections.
func (o *settings) sayReadyWhenAnswered() error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("unix", o.socket)
		if err == nil {
			_ = connection.Close()
			o.sayReady()
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another daemon holds the lock of %s and does not answer: %w", o.socket, err)
		}
	}
}
