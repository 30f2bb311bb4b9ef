// Command mayfly-root turns an untrusted root file system into a machine of Mayfly. It runs as root in a disposable
// sandbox: it unpacks the archives beside the sandbox's own root, adds missing parts of a machine, and replaces that root
// with them. The next boot uses the new one.
package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"

	"mayfly/root/machine"
	"mayfly/root/unpack"
)

// place is on the root's own disk, so that its files can be renamed into the root.
const place = "/.mayfly-root"

const usage = `usage: mayfly-root DIGEST...
       Standard input is a tar archive of as many layers, in their order. A digest is that of a layer as its image says it,
       sha256:... of what is unpacked; or - for an archive that is no layer of an image.
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := replace(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-root:", err)
		os.Exit(1)
	}
}

func say(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
}

func replace(digests []string) error {
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	if err := os.Mkdir(place, 0o700); err != nil {
		return err
	}
	tree := place + "/new"
	root, err := unpack.New(tree)
	if err != nil {
		return err
	}
	if err := layers(root, digests); err != nil {
		return err
	}
	if err := machine.Refuse(root, tree); err != nil {
		return fmt.Errorf("this root file system is refused: %w", err)
	}
	if err := machine.Complete(root, tree, say); err != nil {
		return err
	}
	say("it takes the place of the root before")
	return machine.Swap(place)
}

func layers(root *unpack.Root, digests []string) error {
	archives := tar.NewReader(os.Stdin)
	for n, digest := range digests {
		header, err := archives.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("there are %d archives, not %d", n, len(digests))
		}
		if err != nil {
			return fmt.Errorf("what was sent cannot be read: %w", err)
		}
		if digest == "-" {
			digest = ""
		}
		say("unpacking %d of %d, %d bytes", n+1, len(digests), header.Size)
		if err := root.Layer(archives, digest); err != nil {
			return err
		}
	}
	return nil
}
