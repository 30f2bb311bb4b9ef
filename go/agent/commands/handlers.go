package commands

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"mayfly/agent/answer"
	"mayfly/agent/output"
)

// requestBytes limits the body of a PUT: arguments, environment and 1 MiB of standard input in base64.
const requestBytes = 8 << 20

// Register adds /v1/health and everything below /v1/commands.
func (s *Service) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/health", s.health)
	mux.HandleFunc("PUT /v1/commands/{id}", s.handlePut)
	mux.HandleFunc("GET /v1/commands/{id}", s.handleGet)
	mux.HandleFunc("GET /v1/commands/{id}/output", s.output)
	mux.HandleFunc("DELETE /v1/commands/{id}/output", s.handleForget)
	mux.HandleFunc("POST /v1/commands/{id}/stdin", s.handleStdin)
	mux.HandleFunc("POST /v1/commands/{id}/cancel", s.handleCancel)
}

func (s *Service) health(w http.ResponseWriter, _ *http.Request) {
	answer.JSON(w, http.StatusOK, map[string]any{
		"version": s.version, "bootId": s.bootID, "commandsRunning": s.Count(), "now": stamp(time.Now()),
	})
}

// handlePut starts a command, or answers 200 when it was started before. With follow=true the response to a start
// is the output from its beginning, so that a command costs one round trip.
func (s *Service) handlePut(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err != nil {
		answer.Error(w, err)
		return
	}
	request := new(launchRequest)
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			answer.Error(w, answer.Refused("body_too_large", "A command may have %d bytes in all.", requestBytes))
			return
		}
		answer.Error(w, answer.Refused("invalid_request", "The body is not a command: %s.", err))
		return
	}
	if request.grace, err = graceOf(r.URL.Query().Get("graceSeconds")); err != nil {
		answer.Error(w, err)
		return
	}
	if err := request.check(); err != nil {
		answer.Error(w, err)
		return
	}
	view, isNew, err := s.put(id, request)
	if err != nil {
		answer.Error(w, err)
		return
	}
	switch {
	case !isNew:
		answer.JSON(w, http.StatusOK, view)
	case r.URL.Query().Get("follow") != "true":
		answer.JSON(w, http.StatusCreated, view)
	default:
		w.Header().Set("X-Mayfly-Started-At", *view.StartedAt)
		if err := s.sendOutput(w, r, http.StatusCreated, id, output.Offsets{}); err != nil {
			// A refusal would mean that nothing was started.
			panic(http.ErrAbortHandler)
		}
	}
}

func (s *Service) handleGet(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err != nil {
		answer.Error(w, err)
		return
	}
	view, err := s.get(id)
	if err != nil {
		answer.Error(w, err)
		return
	}
	answer.JSON(w, http.StatusOK, view)
}

func (s *Service) handleForget(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err == nil {
		err = s.forgetOutput(id)
	}
	if err != nil {
		answer.Error(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Service) forgetOutput(id string) error {
	view, err := s.get(id)
	if err != nil {
		return err
	}
	if view.State != "ended" {
		return answer.Refused("invalid_request", "The command %s is running: its output is still needed.", id)
	}
	if err := os.Remove(s.markers.path(id, logFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if c := s.find(id); c != nil {
		// The write of its exit failed, and the disk may have space now.
		s.keep(c, view.Exit)
	}
	return nil
}

func (s *Service) handleStdin(w http.ResponseWriter, r *http.Request) {
	c, err := s.target(r)
	if err != nil {
		answer.Error(w, err)
		return
	}
	offset, err := numberIn(r, "offset")
	if err != nil {
		answer.Error(w, err)
		return
	}
	if c.stdin == nil {
		answer.Error(w, (&standardInput{}).conflict("The command was started without standard input."))
		return
	}
	accepted, err := c.stdin.add(r.Context(), offset, r.Body, r.URL.Query().Get("close") == "true")
	switch {
	case errors.Is(err, context.Canceled):
		panic(http.ErrAbortHandler)
	case err != nil && c.over():
		answer.Error(w, answer.Refused("command_ended", "The command %s has ended.", c.id))
	case err != nil:
		answer.Error(w, err)
	default:
		answer.JSON(w, http.StatusOK, map[string]int64{"offset": accepted})
	}
}

func (s *Service) handleCancel(w http.ResponseWriter, r *http.Request) {
	c, err := s.target(r)
	first := syscall.SIGTERM
	if r.URL.Query().Get("signal") == "SIGPIPE" {
		first = syscall.SIGPIPE
	}
	if err == nil && !c.end("cancelled", first) {
		err = answer.Refused("command_ended", "The command %s has ended.", c.id)
	}
	if err != nil {
		answer.Error(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// target returns the running command of a request that needs one.
func (s *Service) target(r *http.Request) (*command, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	if c := s.find(id); c != nil {
		return c, nil
	}
	if _, err := s.ended(id); err != nil {
		return nil, err
	}
	return nil, answer.Refused("command_ended", "The command %s has ended.", id)
}

// numberIn reads a number of the query; 0 when absent.
func numberIn(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, answer.Refused("invalid_request", "%s must be a number of bytes.", name)
	}
	return n, nil
}

// idOf accepts only ids of model/ids.ts: they become folder names.
func idOf(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !isCommandID(id) {
		return "", answer.Refused("invalid_id", "%q is not the id of a command.", id)
	}
	return id, nil
}

func isCommandID(text string) bool {
	if len(text) != 20 || text[:4] != "cmd-" {
		return false
	}
	for i := 4; i < len(text); i++ {
		c := text[i]
		isDigit := c >= '0' && c <= '9'
		if !isDigit && (c < 'a' || c > 'z' || c == 'i' || c == 'l' || c == 'o' || c == 'u') {
			return false
		}
	}
	return true
}
