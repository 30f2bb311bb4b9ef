package sandbox

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ExecutablesOf returns a program and the files that the kernel opens to start it: its ELF interpreter (ld.so), or
// the chain of
// `#!` lines, execve(2), for `/usr/bin/env name` without env. Every one may be executed; the shared libraries are only mapped, which needs no right.
// It returns an error for a file that is neither.
func ExecutablesOf(path string) ([]string, error) {
	var chain []string
	for range 4 {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
		chain = append(chain, real)
		next, err := interpreterOf(real)
		if err != nil {
			return nil, err
		}
		if next == "" {
			return chain, nil
		}
		path = next
	}
	return nil, fmt.Errorf("%s has too many interpreters", path)
}

func interpreterOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	start, err := bufio.NewReaderSize(file, 256).Peek(256)
	if err != nil && err != io.EOF {
		return "", err
	}
	if line, ok := strings.CutPrefix(string(start), "#!"); ok {
		fields := strings.Fields(strings.SplitN(line, "\n", 2)[0])
		if len(fields) == 0 {
			return "", fmt.Errorf("%s has no interpreter after #!", path)
		}
		if filepath.Base(fields[0]) == "env" && len(fields) == 2 {
			return onPath(fields[1])
		}
		return fields[0], nil
	}
	image, err := elf.NewFile(file)
	if err != nil {
		return "", fmt.Errorf("%s is neither an ELF program nor a script: %w", path, err)
	}
	for _, segment := range image.Progs {
		if segment.Type == elf.PT_INTERP && segment.Filesz < 4096 {
			name, err := io.ReadAll(segment.Open())
			return strings.TrimRight(string(name), "\x00"), err
		}
	}
	return "", nil
}

// onPath returns the program that env(1) would find with the PATH of the stages.
func onPath(name string) (string, error) {
	for _, directory := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		path := filepath.Join(directory, filepath.Base(name))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed on the source", name)
}
