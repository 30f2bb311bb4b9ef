package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"mayfly/agent/accounts"
	"mayfly/agent/answer"
	"mayfly/agent/commands"
	"mayfly/agent/files"
	"mayfly/agent/ports"
	"mayfly/agent/sshd"
)

const (
	defaultSocket = "/run/mayfly/agent.sock"
	defaultState  = "/var/lib/mayfly"
	defaultGroups = "/sys/fs/cgroup/mayfly"
	// readyDescriptor is the pipe on which the starter of a daemon waits for it.
	readyDescriptor = 3
)

// settings configure a daemon; every command that starts one passes the same.
type settings struct {
	socket, state, user, groups string
	ready                       bool
}

func (o *settings) declare(flags *flag.FlagSet) {
	flags.StringVar(&o.socket, "socket", defaultSocket, "unix socket to listen on")
	flags.StringVar(&o.state, "state", defaultState, "folder of what was started")
	flags.StringVar(&o.user, "user", "", "login user: runs commands that name nobody, and may connect (default: who starts it)")
	flags.StringVar(&o.groups, "cgroup", defaultGroups, "folder for control groups, empty for none")
}

func serve(arguments []string) int {
	var o settings
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	o.declare(flags)
	flags.BoolVar(&o.ready, "ready", false, "say on descriptor 3 when connections are taken")
	_ = flags.Parse(arguments)
	err := o.serve()
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "mayfly-agent:", err)
	if o.ready {
		_, _ = fmt.Fprint(os.NewFile(readyDescriptor, "ready"), err)
	}
	return 1
}

func (o *settings) serve() error {
	if err := os.MkdirAll(filepath.Dir(o.socket), 0o755); err != nil {
		return err
	}
	lock, err := lockOf(o.socket)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		// Another daemon has the lock, and is or will be ready.
		return o.sayReadyWhenAnswered()
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	becomeDaemon()
	s, user, err := o.open()
	if err != nil {
		return err
	}
	handler, err := handlerOf(s, o.state, user.Name)
	if err != nil {
		return err
	}
	listener, err := listen(o.socket, int(user.GID), s)
	if err != nil {
		return err
	}
	server := newServer(handler)
	go func() {
		<-stopSignals()
		_ = server.Close()
	}()
	listener.retire = func() { _ = server.Close() }
	o.sayReady()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// lockOf takes the lock that keeps daemons exclusive, for the lifetime of the process.
func lockOf(socket string) (*os.File, error) {
	lock, err := os.OpenFile(socket+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// becomeDaemon sets the umask and directory that commands inherit, as in a login, and protects the agent from the
// OOM killer.
func becomeDaemon() {
	syscall.Umask(0o022)
	_ = os.Chdir("/")
	// Without root the write fails, and no guest depends on it.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
}

// open reads the guest's state, and settles commands of an earlier agent.
func (o *settings) open() (*commands.Service, *accounts.Account, error) {
	user, err := o.loginUser()
	if err != nil {
		return nil, nil, err
	}
	s, err := commands.Open(commands.Options{State: o.state, LoginUser: user.Name, Groups: o.groups, Version: version})
	return s, user, err
}

func (o *settings) loginUser() (*accounts.Account, error) {
	if o.user == "" {
		return accounts.WithID(os.Getuid())
	}
	return accounts.Named(o.user)
}

func handlerOf(s *commands.Service, state, loginUser string) (http.Handler, error) {
	mux := http.NewServeMux()
	s.Register(mux)
	if err := files.Register(mux, state, loginUser); err != nil {
		return nil, err
	}
	sshd.Register(mux)
	ports.Register(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer.Error(w, answer.Refused("not_found", "The agent has nothing at %s.", strconv.Quote(r.URL.Path)))
	})
	return mux, nil
}

// stopSignals handles these signals, which also resets their disposition in commands: a shell's background job
// ignores SIGINT.
func stopSignals() <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	return stop
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
