// Package readonly embeds the table with which the API checks commands, for the gate.
package readonly

import _ "embed"

// Programs is programs.json.
//
//go:embed programs.json
var Programs []byte
