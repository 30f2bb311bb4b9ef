package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
)

func newLog(t *testing.T, limit int64) *frameLog {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	return &frameLog{file: file, limit: limit, over: make(chan struct{})}
}

func (l *frameLog) add(stream byte, text []byte) {
	buffer := append(make([]byte, frameHeaderBytes), text...)
	l.append(stream, buffer, len(text))
}

// sent is what a follower gets from wanted offsets on, put together by the offsets that the frames themselves name.
func sent(t *testing.T, l *frameLog, wanted [streamCount]int64) (streams [streamCount][]byte) {
	t.Helper()
	file, err := os.Open(l.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out bytes.Buffer
	f := &follower{log: l, file: file, target: &out, flush: func() {}, wanted: wanted}
	if err := f.run(context.Background()); err != nil {
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
	l := newLog(t, 1<<40)
	var written [streamCount][]byte
	for range 3_000 {
		stream := byte(1 + random.Intn(2))
		text := make([]byte, 1+random.Intn(3_000))
		_, _ = random.Read(text)
		l.add(stream, text)
		written[stream] = append(written[stream], text...)
	}
	l.finish()
	if len(l.index) < 3 {
		t.Fatalf("only %d places are indexed", len(l.index))
	}
	for range 100 {
		wanted := [streamCount]int64{
			streamStdout: random.Int63n(int64(len(written[streamStdout]) + 1)),
			streamStderr: random.Int63n(int64(len(written[streamStderr]) + 1)),
		}
		streams := sent(t, l, wanted)
		for _, stream := range []byte{streamStdout, streamStderr} {
			if !bytes.Equal(streams[stream], written[stream][wanted[stream]:]) {
				t.Fatalf("seed %d: stream %d differs from %v on", seed, stream, wanted)
			}
		}
	}
}

func TestWhatIsBeyondTheLimitIsCountedAndNotKept(t *testing.T) {
	l := newLog(t, 10)
	for range 5 {
		l.add(streamStdout, []byte("1234"))
	}
	l.add(streamStderr, []byte("problem"))
	if got := l.summary(streamStdout); got != (streamSummary{Bytes: 20, Kept: 10}) {
		t.Errorf("stdout: %+v", got)
	}
	if got := l.summary(streamStderr); got != (streamSummary{Bytes: 7, Kept: 7}) {
		t.Errorf("stderr: %+v", got)
	}
	l.finish()
	if streams := sent(t, l, [streamCount]int64{}); string(streams[streamStdout]) != "1234123412" {
		t.Errorf("kept %q", streams[streamStdout])
	}
}

func TestALogIsCutAfterItsLastWholeFrame(t *testing.T) {
	l := newLog(t, 1<<20)
	l.add(streamStdout, []byte("whole"))
	l.add(streamStderr, []byte("whole too"))
	whole := l.end.position
	l.add(streamStdout, []byte("torn"))
	path, full := l.file.Name(), l.end.position
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := whole; size < full; size++ {
		if err := os.WriteFile(path, content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		end, err := cutLog(path)
		if err != nil || end.position != whole || end.seen != [streamCount]int64{0, 5, 9} {
			t.Fatalf("cut at %d: %+v, %v", size, end, err)
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
	l := &frameLog{file: file, limit: 1 << 20, over: make(chan struct{})}
	l.add(streamStdout, []byte("lost"))
	if !isFull(l.failure) || l.end.position != 0 {
		t.Fatalf("%v at %d", l.failure, l.end.position)
	}
	if got := fmt.Sprint(l.summary(streamStdout)); got != "{4 0}" {
		t.Errorf("%s", got)
	}
}
