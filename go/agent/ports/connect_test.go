package ports

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// program listens on a loopback address and handles one connection.
func program(t *testing.T, address string, do func(*net.TCPConn)) int {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			do(connection.(*net.TCPConn))
			_ = connection.Close()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// connected sends a request to an agent over HTTP/2, like the host.
func connected(t *testing.T, port string) (*io.PipeWriter, *http.Response) {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = protocols
	server.Start()
	t.Cleanup(server.Close)
	client := http.Client{Transport: &http.Transport{Protocols: protocols}}
	body, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	answer, err := client.Post(server.URL+"/v1/connect?port="+port, "", body)
	if err != nil {
		t.Fatal(err)
	}
	return writer, answer
}

func piece(content string) []byte {
	out := make([]byte, headerBytes, headerBytes+len(content))
	putLength(out, len(content))
	return append(out, content...)
}

// joined returns the bytes of pieces, up to the one of length 0.
func joined(source io.Reader) (string, error) {
	var out bytes.Buffer
	for {
		length, err := readLength(source)
		if err != nil || length == 0 {
			return out.String(), err
		}
		if _, err := io.CopyN(&out, source, int64(length)); err != nil {
			return out.String(), err
		}
	}
}

func TestEitherSideMayEndItsOwnDirectionFirst(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "::1", "0.0.0.0"} {
		port := program(t, address, func(c *net.TCPConn) {
			_, _ = c.Write([]byte("hello"))
			_ = c.CloseWrite()
			said, _ := io.ReadAll(c)
			if string(said) != "then you" {
				t.Errorf("%q", said)
			}
		})
		to, answer := connected(t, strconv.Itoa(port))
		if said, err := joined(answer.Body); said != "hello" || err != nil {
			t.Fatal(address, said, err)
		}
		_, _ = to.Write(append(piece("then you"), piece("")...))
		if rest, err := io.ReadAll(answer.Body); len(rest) != 0 || err != nil {
			t.Fatal(address, rest, err)
		}
	}
	port := program(t, "127.0.0.1", func(c *net.TCPConn) {
		said, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.ToUpper(said))
	})
	to, answer := connected(t, strconv.Itoa(port))
	_, _ = to.Write(append(piece("first me"), piece("")...))
	if said, err := joined(answer.Body); said != "FIRST ME" || err != nil {
		t.Fatal(said, err)
	}
}

func TestManyBytesBothWaysComeWhole(t *testing.T) {
	port := program(t, "127.0.0.1", func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	to, answer := connected(t, strconv.Itoa(port))
	part := strings.Repeat("0123456789abcdef", 1<<14)
	go func() {
		for range 64 {
			_, _ = to.Write(piece(part))
		}
		_, _ = to.Write(piece(""))
	}()
	if said, err := joined(answer.Body); err != nil || said != strings.Repeat(part, 64) {
		t.Fatal(len(said), err)
	}
}

func TestWhatWasCutOffIsNotAnEnd(t *testing.T) {
	told := make(chan error, 1)
	port := program(t, "127.0.0.1", func(c *net.TCPConn) {
		_, err := io.ReadAll(c)
		told <- err
	})
	to, answer := connected(t, strconv.Itoa(port))
	_, _ = to.Write(piece("half")[:headerBytes+2])
	_ = to.Close()
	if err := <-told; !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Fatal("the answer ended as if it were whole")
	}

	port = program(t, "127.0.0.1", func(c *net.TCPConn) {
		_, _ = c.Write([]byte("half"))
		_ = c.SetLinger(0)
	})
	_, answer = connected(t, strconv.Itoa(port))
	if said, err := joined(answer.Body); err == nil {
		t.Fatal("the end of a program that was cut off", said)
	}
}

func TestAnAnswerBeforeTheWholeRequestIsPassedOn(t *testing.T) {
	port := program(t, "127.0.0.1", func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, 4))
		_, _ = c.Write([]byte("too large"))
	})
	to, answer := connected(t, strconv.Itoa(port))
	go func() {
		for range 64 {
			if _, err := to.Write(piece(strings.Repeat("x", 1<<16))); err != nil {
				return
			}
		}
	}()
	if said, _ := joined(answer.Body); said != "too large" {
		t.Fatal(said)
	}
}

func TestWhatIsNotPassedOn(t *testing.T) {
	port := program(t, "127.0.0.1", func(*net.TCPConn) {})
	_, answer := connected(t, strconv.Itoa(port))
	_ = answer.Body.Close()
	for text, code := range map[string]string{
		"22": "port_refused", "0": "invalid_request", "65536": "invalid_request", "": "invalid_request",
		"080x": "invalid_request", "1": "port_closed",
	} {
		_, answer := connected(t, text)
		if got := answer.Header.Get("X-Mayfly-Code"); got != code {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestAPieceWithoutMeasureEndsIt(t *testing.T) {
	port := program(t, "127.0.0.1", func(c *net.TCPConn) { _, _ = io.ReadAll(c) })
	to, answer := connected(t, strconv.Itoa(port))
	_, _ = to.Write([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe})
	if _, err := joined(answer.Body); err == nil {
		t.Fatal("it went on")
	}
}
