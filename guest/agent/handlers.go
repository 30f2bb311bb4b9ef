package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
)

// requestBytes bounds the body of a PUT: arguments, environment and 1 MiB of standard input in base64.
const requestBytes = 8 << 20

// registerCommands adds /v1/health and everything below /v1/commands.
func registerCommands(mux *http.ServeMux, s *service) {
	mux.HandleFunc("GET /v1/health", s.health)
	mux.HandleFunc("PUT /v1/commands/{id}", s.handlePut)
	mux.HandleFunc("GET /v1/commands/{id}", s.handleGet)
	mux.HandleFunc("GET /v1/commands/{id}/output", s.output)
	mux.HandleFunc("DELETE /v1/commands/{id}/output", s.handleForget)
	mux.HandleFunc("POST /v1/commands/{id}/stdin", s.handleStdin)
	mux.HandleFunc("POST /v1/commands/{id}/cancel", s.handleCancel)
}

func (s *service) health(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string]any{"version": version, "bootId": s.bootID, "commandsRunning": s.count()})
}

// handlePut starts a command unless it was started before, which 200 says. With follow=true the answer to a start is the
// output from its beginning, so that a command costs one round trip.
func (s *service) handlePut(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err != nil {
		answerError(w, err)
		return
	}
	request := new(launchRequest)
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			answerError(w, refused("body_too_large", "A command may have %d bytes in all.", requestBytes))
			return
		}
		answerError(w, refused("invalid_request", "The body is not a command: %s.", err))
		return
	}
	if err := request.check(); err != nil {
		answerError(w, err)
		return
	}
	view, isNew, err := s.put(id, request)
	if err != nil {
		answerError(w, err)
		return
	}
	switch {
	case !isNew:
		answerJSON(w, http.StatusOK, view)
	case r.URL.Query().Get("follow") != "true":
		answerJSON(w, http.StatusCreated, view)
	default:
		w.Header().Set("X-Mayfly-Started-At", *view.StartedAt)
		if err := s.sendOutput(w, r, http.StatusCreated, id, [streamCount]int64{}); err != nil {
			// A refusal would say that nothing was started.
			panic(http.ErrAbortHandler)
		}
	}
}

func (s *service) handleGet(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err != nil {
		answerError(w, err)
		return
	}
	view, err := s.get(id)
	if err != nil {
		answerError(w, err)
		return
	}
	answerJSON(w, http.StatusOK, view)
}

func (s *service) handleForget(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err == nil {
		err = s.forgetOutput(id)
	}
	if err != nil {
		answerError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *service) forgetOutput(id string) error {
	view, err := s.get(id)
	if err != nil {
		return err
	}
	if view.State != "ended" {
		return refused("invalid_request", "The command %s is running: its output is still needed.", id)
	}
	if err := os.Remove(s.markers.path(id, logFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if c := s.find(id); c != nil {
		// Its exit could not be written, and now there may be room.
		s.keep(c, view.Exit)
	}
	return nil
}

func (s *service) handleStdin(w http.ResponseWriter, r *http.Request) {
	c, err := s.target(r)
	if err != nil {
		answerError(w, err)
		return
	}
	offset, err := numberIn(r, "offset")
	if err != nil {
		answerError(w, err)
		return
	}
	if c.stdin == nil {
		answerError(w, (&standardInput{}).conflict("The command was started without standard input."))
		return
	}
	accepted, err := c.stdin.add(r.Context(), offset, r.Body, r.URL.Query().Get("close") == "true")
	switch {
	case errors.Is(err, context.Canceled):
		panic(http.ErrAbortHandler)
	case err != nil && c.over():
		answerError(w, refused("command_ended", "The command %s has ended.", c.id))
	case err != nil:
		answerError(w, err)
	default:
		answerJSON(w, http.StatusOK, map[string]int64{"offset": accepted})
	}
}

func (s *service) handleCancel(w http.ResponseWriter, r *http.Request) {
	c, err := s.target(r)
	if err == nil && !c.end("cancelled") {
		err = refused("command_ended", "The command %s has ended.", c.id)
	}
	if err != nil {
		answerError(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// target is the command of a request that makes sense only while it runs.
func (s *service) target(r *http.Request) (*command, error) {
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
	return nil, refused("command_ended", "The command %s has ended.", id)
}

func outputRequest(r *http.Request) (id string, wanted [streamCount]int64, err error) {
	if id, err = idOf(r); err != nil {
		return id, wanted, err
	}
	if wanted[streamStdout], err = numberIn(r, "stdout"); err != nil {
		return id, wanted, err
	}
	wanted[streamStderr], err = numberIn(r, "stderr")
	return id, wanted, err
}

// numberIn reads a number of the query, 0 when it is not there.
func numberIn(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, refused("invalid_request", "%s must be a number of bytes.", name)
	}
	return n, nil
}

// idOf accepts ids of model/ids.ts only: they become names of folders.
func idOf(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !isCommandID(id) {
		return "", refused("invalid_id", "%q is not the id of a command.", id)
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

func flusher(w http.ResponseWriter) func() {
	controller := http.NewResponseController(w)
	return func() { _ = controller.Flush() }
}
