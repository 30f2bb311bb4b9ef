// Package answer holds how the agent answers: with JSON, or with a refusal that names a code of model/errors.ts.
package answer

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
	"port_closed":            http.StatusBadGateway,
	"port_refused":           http.StatusUnprocessableEntity,
	"range_not_satisfiable":  http.StatusRequestedRangeNotSatisfiable,
	"too_many_requests":      http.StatusTooManyRequests,
	"internal":               http.StatusInternalServerError,
}

// Refusal is an error that the other side is told as it is: a code of model/errors.ts and a sentence.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Offset goes with stdin_conflict: where standard input is.
	Offset *int64 `json:"offset,omitempty"`
}

// Error is the sentence.
func (r *Refusal) Error() string { return r.Message }

// Refused makes a refusal of a code and the words of a sentence, as fmt.Sprintf does.
func Refused(code, format string, values ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, values...)}
}

// JSON answers with value as JSON.
func JSON(w http.ResponseWriter, status int, value any) {
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

// Error answers with the refusal that err is, or with "internal".
func Error(w http.ResponseWriter, err error) {
	r, ok := err.(*Refusal)
	if !ok {
		r = Refused("internal", "%s", err)
	}
	status, known := statuses[r.Code]
	if !known {
		status = http.StatusInternalServerError
	}
	// The answer to HEAD has no body to say it.
	w.Header().Set("X-Mayfly-Code", r.Code)
	JSON(w, status, r)
}
