package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"mayfly/diff/fault"
)

// Random bytes in random places yield an answer or a fault within the time limit, and never a panic.
func TestMutations(t *testing.T) {
	folder := t.TempDir()
	for index := range 40 {
		write(t, fmt.Sprintf("%s/d%d/file-%d", folder, index%5, index), strings.Repeat("content ", index*40))
	}
	seeds := uint64(400)
	if testing.Short() {
		seeds = 40
	}
	for name, options := range map[string][]string{
		"ext4": {"-t", "ext4", "-O", "^metadata_csum"}, "ext3": {"-t", "ext3", "-I", "256"},
		"inline": {"-t", "ext4", "-O", "inline_data,^metadata_csum"},
	} {
		t.Run(name, func(t *testing.T) {
			path := newImage(t, 8*mebibyte, folder, append(options, "-b", "1024")...)
			before := layersOf(t, path)
			original := read(t, path)
			used := 0 // most of an image is empty
			for at := range original {
				if original[at] != 0 && at < 700*1024 {
					used = at
				}
			}
			scratch, err := os.CreateTemp(t.TempDir(), "mutation")
			if err != nil {
				t.Fatal(err)
			}
			defer scratch.Close()
			answered := 0
			for seed := range seeds {
				mutated := bytes.Clone(original)
				random := rand.New(rand.NewPCG(seed, 1))
				for range 1 + random.IntN(40) {
					at := random.IntN(used)
					if random.IntN(3) == 0 {
						at = 1024 + random.IntN(1024)
					}
					mutated[at] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(random.Uint32())}[random.IntN(6)]
				}
				if _, err := scratch.WriteAt(mutated, 0); err != nil {
					t.Fatal(err)
				}
				started := processorTime(t)
				_, err := ask(request{Mode: "lines", Before: before, After: layersOf(t, scratch.Name())})
				if _, is := err.(*fault.Fault); err != nil && !is {
					t.Errorf("seed %d: %v", seed, err)
				}
				if err == nil {
					answered++
				}
				if took := processorTime(t) - started; took > 10*time.Second {
					t.Errorf("seed %d took %s (%v)", seed, took, err)
				}
			}
			t.Logf("%d of %d were answered", answered, seeds)
		})
	}
}
