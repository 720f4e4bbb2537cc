package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// wire is a connection that reads from a text and keeps what is written.
type wire struct {
	io.Reader
	bytes.Buffer
}

func (w *wire) Read(p []byte) (int, error)       { return w.Reader.Read(p) }
func (w *wire) Write(p []byte) (int, error)      { return w.Buffer.Write(p) }
func (*wire) Close() error                       { return nil }
func (*wire) LocalAddr() net.Addr                { return nil }
func (*wire) RemoteAddr() net.Addr               { return nil }
func (*wire) SetDeadline(time.Time) error        { return nil }
func (*wire) SetReadDeadline(time.Time) error    { return nil }
func (*wire) SetWriteDeadline(t time.Time) error { return nil }

// reading returns the server's side of a connection on which a client has sent something, with the memory it holds.
func reading(sent []byte) (s *socket, w *wire, held *int64) {
	w, held = &wire{Reader: bytes.NewReader(sent)}, new(int64)
	return &socket{conn: w, in: bufio.NewReader(w), hold: func(n int64) (func(), error) {
		*held += n
		if *held > MaxBody {
			return nil, parley.Errorf(parley.CodeRateLimited, "there is no room")
		}
		return func() { *held -= n }, nil
	}}, w, held
}

// frame is one as a client sends it, masked with zeros.
func frame(first byte, payload string) []byte {
	s, w, _ := reading(nil)
	_ = s.write(first&0x0F, []byte(payload)) // to memory
	b := w.Bytes()
	head := len(b) - len(payload)
	b[0] = first
	b[1] |= maskedBit
	return append(append(bytes.Clone(b[:head]), 0, 0, 0, 0), payload...)
}

func TestSocketMessages(t *testing.T) {
	t.Parallel()
	masked := []byte{0x81, 0x82, 1, 2, 3, 4, 'h' ^ 1, 'i' ^ 2}
	long := strings.Repeat("x", 70_000)
	for name, c := range map[string]struct {
		sent []byte
		text string // "" for none
		err  error
		says string // beside the message
	}{
		"masked": {sent: masked, text: "hi"},
		"medium": {sent: frame(0x81, long[:300]), text: long[:300]},
		"long":   {sent: frame(0x81, long), text: long},
		"fragments": {
			sent: append(append(frame(0x01, "a"), frame(0x89, "ping")...), frame(0x80, "b")...), text: "ab",
			says: "\x8a\x04ping",
		},
		"a pong":               {sent: append(frame(0x8A, ""), frame(0x81, "a")...), text: "a"},
		"a close":              {sent: frame(0x88, "\x03\xe8"), err: closing(closeNormal)},
		"binary":               {sent: frame(0x82, "a"), err: closing(closeKind)},
		"unmasked":             {sent: []byte{0x81, 0x01, 'a'}, err: closing(closeProtocol)},
		"extension":            {sent: frame(0xC1, "a"), err: closing(closeProtocol)},
		"reserved":             {sent: frame(0x83, "a"), err: closing(closeProtocol)},
		"a stray continuation": {sent: frame(0x80, "a"), err: closing(closeProtocol)},
		"two beginnings":       {sent: append(frame(0x01, "a"), frame(0x81, "b")...), err: closing(closeProtocol)},
		"a ping in fragments":  {sent: frame(0x09, "a"), err: closing(closeProtocol)},
		"a long ping":          {sent: frame(0x89, long[:126]), err: closing(closeProtocol)},
		"endless": {
			sent: []byte{0x81, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, err: closing(closeTooLarge),
		},
		"very many fragments": {
			sent: append(frame(0x01, "a"), bytes.Repeat(frame(0x00, ""), maxFragments)...), err: closing(closeTooLarge),
		},
		"cut off": {sent: frame(0x81, "ab")[:7], err: io.ErrUnexpectedEOF},
	} {
		s, w, held := reading(c.sent)
		text, free, err := s.message()
		if string(text) != c.text || !errors.Is(err, c.err) || w.String() != c.says {
			t.Errorf(
				"%s: %d bytes, %v, %q; want %d, %v, %q",
				name,
				len(text),
				err,
				w.String(),
				len(c.text),
				c.err,
				c.says,
			)
		}
		if err == nil {
			if *held < int64(len(text)) {
				t.Errorf("%s: holds %d bytes for %d", name, *held, len(text))
			}
			free()
		}
		if *held != 0 {
			t.Errorf("%s: %d bytes stay held", name, *held)
		}
	}
}

// What a message holds once it is decoded is counted before: a member takes far more than its text.
func TestSocketMessagesAreCountedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	s, w, _ := reading(nil)
	var letIn int
	var held int64
	s.hold = func(n int64) (func(), error) {
		if n > MaxBody {
			return nil, parley.Errorf(parley.CodeRateLimited, "there is no room")
		}
		held += n
		return func() { held -= n }, nil
	}
	x := &protocol.Exchange{
		R:       &http.Request{Header: http.Header{}},
		Serve:   func(http.ResponseWriter, *http.Request) { letIn++ },
		Problem: func(err error) protocol.Problem { return protocol.Problem{Status: 429, Detail: err.Error()} },
	}
	send := func(members int) {
		text := []byte(`{"type":"response.create"`)
		for i := range members {
			text = fmt.Appendf(text, `,"%d":0`, i)
		}
		if err := new(api).socketMessage(t.Context(), x, s, &kept{}, append(text, '}')); err != nil {
			t.Fatal(err)
		}
	}
	if send(1000); letIn != 1 {
		t.Errorf("a small message: %q", w.String())
	}
	if send(500_000); letIn != 1 || !strings.Contains(w.String(), "there is no room") {
		t.Errorf("a message of very many members is read")
	}
	if held != 0 {
		t.Errorf("%d bytes stay held", held)
	}
}

// The key and its answer are those of RFC 6455, section 1.3.
func TestHandshake(t *testing.T) {
	t.Parallel()
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	if got := acceptKey(key); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("the answer is %s", got)
	}
	headers := map[string]string{"Connection": "keep-alive, Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
	for changed, value := range map[string]string{
		"": "", "Connection": "close", "Upgrade": "h2c", "Sec-WebSocket-Version": "8", "Sec-WebSocket-Key": "x",
	} {
		r := &http.Request{Header: http.Header{}}
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		if changed != "" {
			r.Header.Set(changed, value)
		}
		if _, err := handshake(r); (err == nil) != (changed == "") {
			t.Errorf("with %s %q: %v", changed, value, err)
		}
	}
}

// Whatever a client sends, reading it ends without a panic, and holds no more memory than is counted.
func FuzzSocket(f *testing.F) {
	f.Add(frame(0x81, `{"type":"response.create","model":"parley","input":"x"}`))
	f.Add(append(append(frame(0x01, `{"type":"resp`), frame(0x89, "ping")...), frame(0x80, `onse.steer"}`)...))
	f.Add(
		frame(
			0x81,
			`{"type":"response.steer","previous_response_id":"resp_1","input":[{"role":"user","content":"x"}]}`,
		),
	)
	f.Add(frame(0x88, "\x03\xe8"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s, _, held := reading(sent)
		for {
			text, free, err := s.message()
			if err != nil {
				break
			}
			if *held < int64(len(text)) {
				t.Fatalf("%d bytes are held for %d", *held, len(text))
			}
			if _, body, err := readSocketMessage(text); err == nil && (isSteer(text) || len(body) == 0) {
				t.Fatalf("%q of %q", body, text)
			}
			var e steerEvent
			if decodeBody(text, &e, steerMembers, "a steer") == nil {
				if m, err := steerMessage(e.Input); err == nil && m.Role != history.User {
					t.Fatalf("%q steers as %s", text, m.Role)
				}
			}
			free()
		}
		if *held != 0 {
			t.Fatalf("%d bytes stay held", *held)
		}
	})
}
