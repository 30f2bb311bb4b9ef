// Command mayfly-store is the embedded default store: MongoDB's wire protocol over SQLite files in one folder.
//
// It is FerretDB as a library behind a front that serializes writes, see [Front], and answers them once durable,
// see [Flusher]. When it accepts clients it prints one line of JSON on stdout:
// {"address":"127.0.0.1:27017","uri":"mongodb://…"}, where a Unix socket's address is its path. Logs go to stderr
// as JSON. SIGTERM and SIGINT complete the requests in flight and stop.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// backendSocket is FerretDB's socket, relative to the data folder, which only its owner can enter.
const backendSocket = "backend.sock"

type options struct {
	listen        string
	socket        string
	dir           string
	exitWithStdin bool
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 picks a free one")
	flag.StringVar(&o.socket, "socket", "", "listen on this Unix socket instead, which only its owner can open")
	flag.StringVar(&o.dir, "dir", "", "folder of the data, made with mode 0700 if absent")
	flag.BoolVar(&o.exitWithStdin, "exit-with-stdin", false, "stop when standard input closes, as it does when the parent ends")
	flag.Parse()
	if o.dir == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: mayfly-store --dir FOLDER [--listen ADDRESS:PORT | --socket FILE] [--exit-with-stdin]")
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if o.exitWithStdin {
		go func() {
			// The end of stdin matters, not its cause.
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}

	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(ctx, o, os.Stdout, log); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}

// run serves until ctx is cancelled, or fails.
func run(ctx context.Context, o options, ready io.Writer, log *slog.Logger) error {
	syscall.Umask(0o077)
	lock, err := openDataDir(o.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := removeSocket(backendSocket); err != nil {
		return err
	}

	backend, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{Unix: backendSocket},
		Handler:   "sqlite",
		SQLiteURL: "file:./?_pragma=synchronous(normal)", // [Flusher] does the rest
		// At lower levels FerretDB logs every refused command and closed connection, of which clients get an error
		// anyway.
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return fmt.Errorf("cannot open the data in %s: %w", o.dir, err)
	}

	// The backend outlives the front, so that requests in flight at shutdown get their replies.
	backendCtx, stopBackend := context.WithCancel(context.Background())
	backendDone := make(chan error, 1)
	go func() { backendDone <- backend.Run(backendCtx) }()
	defer func() {
		stopBackend()
		if err := <-backendDone; err != nil {
			log.Error("the database did not stop cleanly", "error", err)
		}
	}()

	listener, err := listen(o)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	defer listener.Close()
	if err := announce(ready, listener.Addr().String()); err != nil {
		return err
	}

	var dialer net.Dialer
	front := NewFront(func(ctx context.Context) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", backendSocket)
	}, NewFlusher(logFlush(".")).Wait, log)
	return front.Serve(ctx, listener)
}

// listen opens the clients' socket. The umask of [run] limits a Unix socket to its owner.
func listen(o options) (net.Listener, error) {
	if o.socket == "" {
		return net.Listen("tcp", o.listen)
	}
	if err := removeSocket(o.socket); err != nil {
		return nil, err
	}
	return net.Listen("unix", o.socket)
}

// removeSocket removes the socket of a killed process. The caller holds the lock of the data folder.
func removeSocket(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove an old socket: %w", err)
	}
	return nil
}

// announce prints the address for the starter of the store; clients may connect from here on.
func announce(w io.Writer, address string) error {
	err := json.NewEncoder(w).Encode(map[string]string{
		"address": address,
		"uri":     "mongodb://" + url.PathEscape(address) + "/?directConnection=true",
	})
	if err != nil {
		return fmt.Errorf("cannot announce the address: %w", err)
	}
	return nil
}
