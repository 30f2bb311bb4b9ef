// Package readonly gives the gate the table that the API checks commands against.
package readonly

import _ "embed"

// Programs is programs.json.
//
//go:embed programs.json
var Programs []byte
