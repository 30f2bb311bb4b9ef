// Command mayfly-agent runs inside a sandbox: it starts commands, stores their output, and reads and writes files.
// The host connects to it through an SSH session channel that carries HTTP/2.
package main

import (
	"fmt"
	"os"
)

// version is the digest of go/agent, linked in by scripts/setup/guest.mjs.
var version = "unversioned"

const usage = `usage: mayfly-agent serve | start | connect --version V | version
       [--socket PATH] [--state FOLDER] [--user NAME] [--cgroup FOLDER]
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	verb, arguments := os.Args[1], os.Args[2:]
	switch verb {
	case "serve":
		os.Exit(serve(arguments))
	case "start":
		os.Exit(startDaemon(arguments))
	case "connect":
		os.Exit(connect(arguments))
	case "version":
		fmt.Println(version)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}
