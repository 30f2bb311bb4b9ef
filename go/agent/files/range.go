package files

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"mayfly/agent/answer"
)

// blockBytes is the size of reads and writes: under emulation each system call takes microseconds.
const blockBytes = 256 << 10

// sendRange sends a file, or the requested range of it (RFC 9110 §14).
func sendRange(w http.ResponseWriter, r *http.Request, file *os.File, info os.FileInfo) error {
	content, size, err := contentOf(file, info.Size())
	if err != nil {
		return err
	}
	first, length, status := int64(0), size, http.StatusOK
	asked := r.Header.Get("Range")
	if condition := r.Header.Get("If-Range"); condition != "" && condition != w.Header().Get("ETag") {
		asked = ""
	}
	if start, count, ok := rangeOf(asked, size); ok {
		if count == 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", size))
			return answer.Refused("range_not_satisfiable", "The file has %d bytes.", size)
		}
		first, length, status = start, count, http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, first+length-1, size))
	}
	if _, err := content.Seek(first, io.SeekStart); err != nil {
		return err
	}
	w.Header().Set("Content-Length", decimal(length))
	w.WriteHeader(status)
	// Content appended during the response is omitted; a truncated file aborts it.
	if sent, err := copyBlocks(w, io.LimitReader(content, length)); err != nil || sent < length {
		breakOff()
	}
	return nil
}

// contentOf reads a small file before its size is announced: those of /sys report a page, and a file may shrink.
func contentOf(file *os.File, size int64) (io.ReadSeeker, int64, error) {
	if size > blockBytes {
		return file, size, nil
	}
	block := make([]byte, size)
	n, err := fill(file, block)
	if err != nil && err != io.EOF {
		return nil, 0, refusalOf(file.Name(), err)
	}
	return bytes.NewReader(block[:n]), int64(n), nil
}

// rangeOf parses a Range header of one range. Anything else is not ok, and ignored as RFC 9110 allows: several
// ranges, another unit, invalid text. A length of 0 means a range beyond the file.
func rangeOf(header string, size int64) (first, length int64, ok bool) {
	spec, isBytes := strings.CutPrefix(header, "bytes=")
	from, to, isRange := strings.Cut(strings.TrimSpace(spec), "-")
	if !isBytes || !isRange || !isDigits(from) || !isDigits(to) || from+to == "" {
		return 0, 0, false
	}
	if from == "" {
		length = min(number(to), size)
		return size - length, length, true
	}
	first = number(from)
	last := size - 1
	if to != "" {
		last = min(number(to), last)
		if number(to) < first {
			return 0, 0, false
		}
	}
	if first >= size {
		return 0, 0, true
	}
	return first, last - first + 1, true
}

func isDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// number returns the value of digits, limited to the largest int64.
func number(digits string) int64 {
	value, _ := strconv.ParseInt(digits, 10, 64)
	return value
}

// copyBlocks copies all bytes in large blocks; io.Copy would use 32 KiB or less.
func copyBlocks(w io.Writer, r io.Reader) (int64, error) {
	buffer := make([]byte, blockBytes)
	total := int64(0)
	for {
		n, err := fill(r, buffer)
		if n > 0 {
			written, writeErr := w.Write(buffer[:n])
			total += int64(written)
			if writeErr != nil {
				return total, writeErr
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// fill reads until the buffer is full or the reader fails. Unlike io.ReadFull it returns the reader's own error, so
// that a broken body does not look complete.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var count int
		count, err = r.Read(buffer[n:])
		n += count
	}
	return n, err
}
