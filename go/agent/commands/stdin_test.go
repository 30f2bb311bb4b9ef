package commands

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// leaving is a body whose client disconnects at its end.
type leaving struct{ leave context.CancelFunc }

func (l leaving) Read([]byte) (int, error) {
	l.leave()
	return 0, io.EOF
}

func TestWhoGoesAwayLeavesStandardInputToOthers(t *testing.T) {
	p, err := openPipes(true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeOurs()
	go func() { _, _ = io.Copy(io.Discard, p.theirs[0]) }()
	in := newStandardInput(p.stdin, nil, true)
	for range 2_000 {
		ctx, leave := context.WithCancel(context.Background())
		if _, err := in.add(ctx, in.accepted, leaving{leave}, false); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := in.add(context.Background(), in.accepted, strings.NewReader("x"), false); err != nil {
			t.Fatalf("after %d bytes: %v", in.accepted, err)
		}
	}
}
