package processes

import (
	"os"
	"os/exec"
	"testing"
)

func TestTheProcessFileIsReadWhateverTheProcessIsCalled(t *testing.T) {
	p, ok := find(os.Getpid())
	if !ok || p.Parent != os.Getppid() || p.zombie || p.born == "" {
		t.Fatalf("%+v", p)
	}
}

func TestASignalReachesOnlyThatProcess(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p, _ := find(child.Process.Pid)
	other := p
	other.born += "0"
	if other.signal(0) || !p.signal(0) {
		t.Fatal("told apart by the start time")
	}
	End([]Process{p})
	if err := child.Wait(); err == nil {
		t.Fatal("still alive")
	}
}
