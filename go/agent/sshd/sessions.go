package sshd

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"mayfly/agent/answer"
	"mayfly/agent/processes"
)

const (
	maxSessionsBytes = 1 << 20
	// betweenLooks lets a login that was accepted just before the list was written become a session.
	betweenLooks = 250 * time.Millisecond
	maxLooks     = 40
)

// registerSessions adds POST /v1/sessions/end.
func registerSessions(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/sessions/end", func(w http.ResponseWriter, r *http.Request) {
		revoked, err := readSerials(r.Body)
		if err == nil {
			err = endSessions(revoked)
		}
		if err != nil {
			answer.Error(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func readSerials(body io.Reader) (map[uint64]bool, error) {
	var wanted struct {
		Serials []string `json:"serials"`
	}
	decoder := json.NewDecoder(io.LimitReader(body, maxSessionsBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		return nil, answer.Refused("invalid_request", "The serials are not the JSON that they should be: %s", err)
	}
	serials := map[uint64]bool{}
	for _, text := range wanted.Serials {
		serial, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, answer.Refused("invalid_request", "%s is not a serial.", strconv.Quote(text))
		}
		serials[serial] = true
	}
	return serials, nil
}

// endSessions ends connections of revoked certificates, until two polls in a row find none.
//
// It also ends connections that do not show their certificate: one without a session could open a session later.
// Their owners, if still authorized, reconnect.
func endSessions(revoked map[uint64]bool) error {
	if len(revoked) == 0 {
		return nil
	}
	clean := 0
	for range maxLooks {
		found := findRevoked(revoked)
		if len(found) == 0 {
			if clean++; clean == 2 {
				return nil
			}
			time.Sleep(betweenLooks)
			continue
		}
		clean = 0
		processes.End(found)
	}
	return answer.Refused("internal", "Sessions of revoked certificates keep being there.")
}

func findRevoked(revoked map[uint64]bool) []processes.Process {
	table := processes.All()
	var found []processes.Process
	for _, connection := range connectionsIn(table) {
		serial, known := certificateOf(table, connection)
		if known && !revoked[serial] {
			continue
		}
		found = append(found, partsOf(table, connection)...)
	}
	return append(found, straysOf(table, revoked)...)
}
