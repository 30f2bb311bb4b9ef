// Package answer writes the agent's responses: JSON, or a refusal with a code of model/errors.ts.
package answer

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// statuses maps each code of model/errors.ts that the agent uses to its HTTP status.
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

// Refusal is an error for the client: a code of model/errors.ts and a message.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Offset is the position of standard input, for stdin_conflict.
	Offset *int64 `json:"offset,omitempty"`
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// Refused returns a refusal with a message that fmt.Sprintf formats.
func Refused(code, format string, values ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, values...)}
}

// JSON writes value as JSON.
func JSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	// A write error means that the client has disconnected.
	_, _ = w.Write(body)
}

// Error writes err if it is a refusal, else "internal".
func Error(w http.ResponseWriter, err error) {
	r, ok := err.(*Refusal)
	if !ok {
		r = Refused("internal", "%s", err)
	}
	status, known := statuses[r.Code]
	if !known {
		status = http.StatusInternalServerError
	}
	// A response to HEAD has no body.
	w.Header().Set("X-Mayfly-Code", r.Code)
	JSON(w, status, r)
}
