package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The program itself, confined as on the host, with its memory limit.
func TestConfinedProgram(t *testing.T) {
	program := t.TempDir() + "/mayfly-diff"
	tool(t, "", "go", "build", "-o", program, ".")
	path := newImage(t, 16*mebibyte, sampleFolder(t), "-t", "ext4")
	start := func(input string) (string, string, error) {
		disk, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer disk.Close()
		command := exec.Command(program, "-uid", "65533")
		command.ExtraFiles = []*os.File{disk}
		command.Stdin = strings.NewReader(input)
		var output, complaint bytes.Buffer
		command.Stdout, command.Stderr = &output, &complaint
		err = command.Run()
		return output.String(), complaint.String(), err
	}
	disk := `{"layers":[{"fd":3,"format":"raw"}],"partition":null}`
	output, complaint, err := start(`{"mode":"lines","before":` + disk + `,"after":` + disk + `,"seconds":300}`)
	if err != nil || !strings.Contains(output, `"line":"end"`) || complaint != "" {
		t.Errorf("%v: %s %s", err, output, complaint)
	}
	output, complaint, err = start(`{"mode":"lines","before":{"layers":[{"fd":9,"format":"raw"}]},"after":` + disk + `,"seconds":300}`)
	if err == nil || output != "" || !strings.Contains(complaint, `"code":"bad-request"`) {
		t.Errorf("%v: %s %s", err, output, complaint)
	}
	for _, bad := range []string{"", "{}", `{"mode":"shell"}`, `{"mode":"lines","unknown":1}`} {
		if _, complaint, err := start(bad); err == nil || !strings.Contains(complaint, `"code":"bad-request"`) {
			t.Errorf("%s: %v, %s", bad, err, complaint)
		}
	}
}
