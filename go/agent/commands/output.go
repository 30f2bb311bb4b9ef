package commands

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"

	"mayfly/agent/answer"
	"mayfly/agent/output"
)

// output streams a command's frames until it ends.
func (s *Service) output(w http.ResponseWriter, r *http.Request) {
	id, wanted, err := outputRequest(r)
	if err == nil {
		err = s.sendOutput(w, r, http.StatusOK, id, wanted)
	}
	if err != nil {
		answer.Error(w, err)
	}
}

// sendOutput returns an error before the first byte; later it aborts the response.
func (s *Service) sendOutput(w http.ResponseWriter, r *http.Request, status int, id string, wanted output.Offsets) error {
	log, exitOf, err := s.openLog(id)
	if err != nil {
		return err
	}
	f := &output.Follower{Log: log, Target: w, Flush: flusher(w), Wanted: wanted}
	if f.File, err = os.Open(s.markers.path(id, logFile)); err != nil {
		f.File = nil
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if exit := exitOf(); exit == nil || exit.Stdout.Kept > wanted[output.Stdout] || exit.Stderr.Kept > wanted[output.Stderr] {
			return answer.Refused("not_found", "The output of %s was deleted.", id)
		}
	}
	defer closeFile(f.File)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(status)
	if err := f.Run(r.Context()); err != nil {
		// The response has started: only an abort shows that it is incomplete.
		panic(http.ErrAbortHandler)
	}
	content, err := json.Marshal(exitOf())
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(output.EndFrame(content))
	return nil
}

// openLog returns the log of a running or ended command.
func (s *Service) openLog(id string) (*output.Log, func() *commandExit, error) {
	if c := s.find(id); c != nil {
		return c.log, func() *commandExit { return c.view().Exit }, nil
	}
	view, err := s.ended(id)
	if err != nil {
		return nil, nil, err
	}
	size := int64(0)
	about, err := os.Stat(s.markers.path(id, logFile))
	if err == nil {
		size = about.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return output.EndedLog(size), func() *commandExit { return view.Exit }, nil
}

func outputRequest(r *http.Request) (id string, wanted output.Offsets, err error) {
	if id, err = idOf(r); err != nil {
		return id, wanted, err
	}
	if wanted[output.Stdout], err = numberIn(r, "stdout"); err != nil {
		return id, wanted, err
	}
	wanted[output.Stderr], err = numberIn(r, "stderr")
	return id, wanted, err
}

func flusher(w http.ResponseWriter) func() {
	controller := http.NewResponseController(w)
	return func() { _ = controller.Flush() }
}
