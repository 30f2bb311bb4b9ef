package commands

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mayfly/agent/accounts"
	"mayfly/agent/answer"
	"mayfly/agent/processes"
)

// launchRequest is the body of PUT /v1/commands/{id}.
type launchRequest struct {
	Command        *string           `json:"command"`
	Argv           []string          `json:"argv"`
	Env            map[string]string `json:"env"`
	Stdin          []byte            `json:"stdin"`
	StdinOpen      bool              `json:"stdinOpen"`
	Cwd            *string           `json:"cwd"`
	User           *string           `json:"user"`
	TimeoutSeconds int64             `json:"timeoutSeconds"`
	MaxOutputBytes int64             `json:"maxOutputBytes"`
	// SecretFiles maps file names to contents, in a tmpfs that exists as long as the command.
	SecretFiles map[string]string `json:"secretFiles"`
	// grace comes from the query, not the body, since older agents reject unknown fields of the body.
	grace time.Duration
}

// launch is a resolved request: program, account and working directory.
type launch struct {
	account *accounts.Account
	program string
	argv    []string
	env     []string
	cwd     string
}

func (r *launchRequest) check() error {
	switch {
	case (r.Command == nil) == (r.Argv == nil):
		return answer.Refused("invalid_request", "Exactly one of command and argv must be set.")
	case r.Argv != nil && (len(r.Argv) == 0 || r.Argv[0] == ""):
		return answer.Refused("invalid_request", "argv names no program.")
	case r.TimeoutSeconds < 1:
		return answer.Refused("invalid_request", "timeoutSeconds must be at least 1.")
	case r.MaxOutputBytes < 0:
		return answer.Refused("invalid_request", "maxOutputBytes is negative.")
	case r.Cwd != nil && !filepath.IsAbs(*r.Cwd):
		return answer.Refused("invalid_request", "cwd must be an absolute path.")
	}
	for name, value := range r.Env {
		if !isVariableName(name) {
			return answer.Refused("invalid_request", "%q cannot name an environment variable.", name)
		}
		if hasNul(value) {
			return answer.Refused("invalid_request", "The value of %s contains a NUL byte.", name)
		}
	}
	if r.Command != nil && hasNul(*r.Command) || r.Cwd != nil && hasNul(*r.Cwd) {
		return answer.Refused("invalid_request", "command and cwd must not contain NUL bytes.")
	}
	for _, argument := range r.Argv {
		if hasNul(argument) {
			return answer.Refused("invalid_request", "argv contains a NUL byte.")
		}
	}
	return nil
}

// graceOf parses the seconds between SIGTERM and SIGKILL of a query.
func graceOf(text string) (time.Duration, error) {
	if text == "" {
		return defaultGrace, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > maxGraceSeconds {
		return 0, answer.Refused("invalid_request", "graceSeconds must be from 1 to %d.", maxGraceSeconds)
	}
	return time.Duration(seconds) * time.Second, nil
}

// resolve looks up the user, the working directory and the program, to refuse before the start what cannot start.
func (r *launchRequest) resolve(id, loginUser string) (*launch, error) {
	name := loginUser
	if r.User != nil {
		name = *r.User
	}
	a, err := accounts.Named(name)
	if err != nil {
		return nil, err
	}
	l := &launch{account: a, env: r.environment(a, id)}
	if l.cwd, err = r.directory(a); err != nil {
		return nil, err
	}
	if r.Command != nil {
		return l, l.useShell(*r.Command)
	}
	l.argv = r.Argv
	l.program, err = l.find(r.Argv[0])
	return l, err
}

func (r *launchRequest) environment(a *accounts.Account, id string) []string {
	values := map[string]string{
		"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name, "SHELL": a.Shell, "PATH": a.Path(), "LANG": "C.UTF-8",
	}
	for name, value := range r.Env {
		values[name] = value
	}
	values[processes.CommandVariable] = id
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	return env
}

// directory returns the working directory; / for a missing home, as in login(1).
func (r *launchRequest) directory(a *accounts.Account) (string, error) {
	path := a.Home
	if r.Cwd != nil {
		path = *r.Cwd
	}
	about, err := os.Stat(path)
	switch {
	case err == nil && about.IsDir():
		return path, nil
	case r.Cwd == nil:
		return "/", nil
	case err == nil:
		return "", answer.Refused("command_refused", "The working directory %q is not a directory.", path)
	default:
		return "", answer.Refused("command_refused", "The working directory %q cannot be used: %s.", path, reasonOf(err))
	}
}

// useShell runs the text with the user's shell, unchanged, as sshd does. Not as a login shell: a profile would
// replace the requested PATH, and take longer than most commands.
func (l *launch) useShell(text string) error {
	if err := l.executable(l.account.Shell); err != nil {
		return answer.Refused("command_refused", "The login shell %s of %s cannot be run: %s.", l.account.Shell, l.account.Name, reasonOf(err))
	}
	l.program = l.account.Shell
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		text = " " + text // the shell would take it for options of its own
	}
	l.argv = []string{filepath.Base(l.account.Shell), "-c", text}
	return nil
}

func hasNul(text string) bool { return strings.IndexByte(text, 0) >= 0 }

func isVariableName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
