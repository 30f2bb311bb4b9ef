package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// statuses holds the HTTP status of every code of model/errors.ts that the agent answers with.
var statuses = map[string]int{
	"invalid_request":        http.StatusUnprocessableEntity,
	"invalid_id":             http.StatusBadRequest,
	"body_too_large":         http.StatusRequestEntityTooLarge,
	"not_found":              http.StatusNotFound,
	"command_not_found":      http.StatusNotFound,
	"command_ended":          http.StatusConflict,
	"command_refused":        http.StatusUnprocessableEntity,
	"program_not_found":      http.StatusUnprocessableEntity,
	"program_not_executable": http.StatusUnprocessableEntity,
	"stdin_conflict":         http.StatusConflict,
	"file_not_found":         http.StatusNotFound,
	"file_conflict":          http.StatusConflict,
	"file_forbidden":         http.StatusForbidden,
	"guest_disk_full":        http.StatusInsufficientStorage,
	"range_not_satisfiable":  http.StatusRequestedRangeNotSatisfiable,
	"too_many_requests":      http.StatusTooManyRequests,
	"internal":               http.StatusInternalServerError,
}

// refusal is an error that the other side is told as it is: a code of model/errors.ts and a sentence.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Offset goes with stdin_conflict: where standard input is.
	Offset *int64 `json:"offset,omitempty"`
}

func (r *refusal) Error() string { return r.Message }

func refused(code, format string, values ...any) *refusal {
	return &refusal{Code: code, Message: fmt.Sprintf(format, values...)}
}

// answerJSON answers with value as JSON.
func answerJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	// A client that has gone is no concern of ours.
	_, _ = w.Write(body)
}

// answerError answers with the refusal that err is, or with "internal".
func answerError(w http.ResponseWriter, err error) {
	r, ok := err.(*refusal)
	if !ok {
		r = refused("internal", "%s", err)
	}
	status, known := statuses[r.Code]
	if !known {
		status = http.StatusInternalServerError
	}
	// The answer to HEAD has no body to say it.
	w.Header().Set("X-Mayfly-Code", r.Code)
	answerJSON(w, status, r)
}
