package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
)

const (
	defaultSocket = "/run/mayfly/agent.sock"
	defaultState  = "/var/lib/mayfly"
)

func serve(arguments []string) int {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	socket := flags.String("socket", defaultSocket, "unix socket to listen on")
	state := flags.String("state", defaultState, "folder of what outlives the agent")
	loginUser := flags.String("user", "", "login user")
	_ = flags.Parse(arguments)
	_ = os.Remove(*socket)
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mux := http.NewServeMux()
	if err := registerFiles(mux, *state, *loginUser); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	registerTrust(mux)
	registerSessions(mux)
	err = newServer(mux).Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func newServer(handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:   handler,
		Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          4096,
			MaxReceiveBufferPerConnection: 16 << 20,
			MaxReceiveBufferPerStream:     4 << 20,
		},
	}
}
