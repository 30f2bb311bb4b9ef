package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func emptyLog(t *testing.T, limit int64) *Log {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	return NewLog(file, limit)
}

func (l *Log) add(stream byte, text []byte) {
	buffer := append(make([]byte, frameHeaderBytes), text...)
	l.append(stream, buffer, len(text))
}

// sent returns a follower's output from the wanted offsets on, joined by the frames' own offsets.
func sent(t *testing.T, l *Log, wanted Offsets) (streams [3][]byte) {
	t.Helper()
	file, err := os.Open(l.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out bytes.Buffer
	f := &Follower{Log: l, File: file, Target: &out, Flush: func() {}, Wanted: wanted}
	if err := f.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	at := wanted
	for rest := out.Bytes(); len(rest) > 0; {
		h, ok := readHeader(rest)
		if !ok || h.offset != at[h.stream] {
			t.Fatalf("wanted %v: a frame %+v at %v", wanted, h, at)
		}
		end := frameHeaderBytes + h.length
		streams[h.stream] = append(streams[h.stream], rest[frameHeaderBytes:end]...)
		at[h.stream] += h.length
		rest = rest[end:]
	}
	return streams
}

func TestFollowersGetEveryByteOnceFromAnyOffset(t *testing.T) {
	seed := rand.Int63()
	random := rand.New(rand.NewSource(seed))
	l := emptyLog(t, 1<<40)
	var written [3][]byte
	for range 3_000 {
		stream := byte(1 + random.Intn(2))
		text := make([]byte, 1+random.Intn(3_000))
		_, _ = random.Read(text)
		l.add(stream, text)
		written[stream] = append(written[stream], text...)
	}
	l.Finish()
	if len(l.index) < 3 {
		t.Fatalf("only %d places are indexed", len(l.index))
	}
	for range 100 {
		wanted := Offsets{
			Stdout: random.Int63n(int64(len(written[Stdout]) + 1)),
			Stderr: random.Int63n(int64(len(written[Stderr]) + 1)),
		}
		streams := sent(t, l, wanted)
		for _, stream := range []byte{Stdout, Stderr} {
			if !bytes.Equal(streams[stream], written[stream][wanted[stream]:]) {
				t.Fatalf("seed %d: stream %d differs from %v on", seed, stream, wanted)
			}
		}
	}
}

func TestWhatIsBeyondTheLimitIsCountedAndNotKept(t *testing.T) {
	l := emptyLog(t, 10)
	for range 5 {
		l.add(Stdout, []byte("1234"))
	}
	l.add(Stderr, []byte("problem"))
	if got := l.Summary(Stdout); got != (Summary{Bytes: 20, Kept: 10}) {
		t.Errorf("stdout: %+v", got)
	}
	if got := l.Summary(Stderr); got != (Summary{Bytes: 7, Kept: 7}) {
		t.Errorf("stderr: %+v", got)
	}
	l.Finish()
	if streams := sent(t, l, Offsets{}); string(streams[Stdout]) != "1234123412" {
		t.Errorf("kept %q", streams[Stdout])
	}
}

func TestALogIsCutAfterItsLastWholeFrame(t *testing.T) {
	l := emptyLog(t, 1<<20)
	l.add(Stdout, []byte("whole"))
	l.add(Stderr, []byte("whole too"))
	whole := l.end.position
	l.add(Stdout, []byte("torn"))
	path, full := l.file.Name(), l.end.position
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := whole; size < full; size++ {
		if err := os.WriteFile(path, content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		kept, err := CutLog(path)
		if err != nil || kept != (Offsets{0, 5, 9}) {
			t.Fatalf("cut at %d: %+v, %v", size, kept, err)
		}
		if about, _ := os.Stat(path); about.Size() != whole {
			t.Fatalf("cut at %d leaves %d", size, about.Size())
		}
	}
}

func TestALogOnAFullDiskStaysReadable(t *testing.T) {
	file, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLog(file, 1<<20)
	l.add(Stdout, []byte("lost"))
	if !errors.Is(l.failure, syscall.ENOSPC) || l.end.position != 0 {
		t.Fatalf("%v at %d", l.failure, l.end.position)
	}
	if got := fmt.Sprint(l.Summary(Stdout)); got != "{4 0}" {
		t.Errorf("%s", got)
	}
}
