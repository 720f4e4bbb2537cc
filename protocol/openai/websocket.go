package openai

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // RFC 6455 asks for it; it protects nothing
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/protocol"
)

// The server's side of RFC 6455, without extensions: text messages that are bounded, pings, closes.

// websocketIdle closes a connection whose client sends nothing for this long.
const websocketIdle = time.Hour

// The opcodes of frames.
const (
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xA

	finalFrame = 0x80
	maskedBit  = 0x80

	maxControl   = 125  // bytes of a control frame's payload
	maxFragments = 1024 // frames of a message
)

// The statuses of a close.
const (
	closeNormal   = 1000
	closeProtocol = 1002
	closeKind     = 1003
	closeTooLarge = 1009
	closeInternal = 1011
)

// acceptKey answers the key of a handshake.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see the import
	return base64.StdEncoding.EncodeToString(sum[:])
}

// handshake reads the headers of one, and returns its key.
func handshake(r *http.Request) (key string, err error) {
	raw, wrong := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	upgrades := false
	for _, token := range strings.Split(r.Header.Get("Connection"), ",") {
		upgrades = upgrades || strings.EqualFold(strings.TrimSpace(token), "upgrade")
	}
	switch {
	case !upgrades || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return "", parley.Errorf(
			parley.CodeInvalid,
			"GET of this path opens a WebSocket. To create a response, POST it.",
		)
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return "", parley.InvalidField("Sec-WebSocket-Version", "must be 13")
	case wrong != nil || len(raw) != 16:
		return "", parley.InvalidField("Sec-WebSocket-Key", "must be 16 bytes in base64")
	}
	return r.Header.Get("Sec-WebSocket-Key"), nil
}

// closing is the end of a connection, with the status that says why.
type closing uint16

// Error implements error.
func (c closing) Error() string { return "websocket: closed" }

// socket is a connection after its handshake. One goroutine reads; any may write.
type socket struct {
	conn net.Conn
	in   *bufio.Reader
	hold func(bytes int64) (free func(), err error)

	mu  sync.Mutex // guards writes
	out []byte
}

// accept answers a handshake, and takes the connection over.
func accept(x *protocol.Exchange, key string) (*socket, func(), error) {
	conn, in, done, err := x.Take()
	if err != nil {
		return nil, nil, err
	}
	s := &socket{conn: conn, in: in, hold: x.Hold}
	_ = conn.SetWriteDeadline(time.Now().Add(protocol.WriteTimeout)) // a broken connection fails the write
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"X-Request-Id: "+x.RequestID.String()+"\r\nSec-WebSocket-Accept: "+acceptKey(key)+"\r\n\r\n")
	if err != nil {
		done()
	}
	return s, done, err
}

// write sends a frame.
func (s *socket) write(opcode byte, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append(s.out[:0], finalFrame|opcode)
	switch n := len(payload); {
	case n <= maxControl:
		b = append(b, byte(n))
	case n <= 0xFFFF:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	b = append(b, payload...)
	if s.out = b; cap(b) > protocol.FullBuffer {
		s.out = nil
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(protocol.WriteTimeout)); err != nil {
		return err
	}
	_, err := s.conn.Write(b)
	return err
}

// message reads the next one, and answers what comes between. free gives its memory back.
func (s *socket) message() (text []byte, free func(), err error) {
	frees := []func(){}
	free = func() {
		for _, f := range frees {
			f()
		}
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	for started := false; ; {
		if err := s.conn.SetReadDeadline(time.Now().Add(websocketIdle)); err != nil {
			return nil, free, err
		}
		final, opcode, length, mask, err := frameHead(s.in)
		if err != nil {
			return nil, free, err
		}
		switch {
		case opcode == opBinary:
			return nil, free, closing(closeKind)
		case opcode == opText && started, opcode == opContinue && !started,
			opcode > opBinary && opcode < opClose, opcode > opPong,
			opcode >= opClose && (!final || length > maxControl):
			return nil, free, closing(closeProtocol)
		case opcode < opClose && (int64(len(text))+length > MaxBody || len(frees) == maxFragments):
			return nil, free, closing(closeTooLarge)
		}
		of := &text
		var control []byte
		if opcode >= opClose {
			of = &control
		} else if f, err := s.hold(length); err == nil {
			frees = append(frees, f)
		} else {
			return nil, free, err
		}
		at := len(*of)
		*of = append(*of, make([]byte, length)...)
		if _, err := io.ReadFull(s.in, (*of)[at:]); err != nil {
			return nil, free, err
		}
		for i := range (*of)[at:] {
			(*of)[at+i] ^= mask[i%len(mask)]
		}
		switch opcode {
		case opPing:
			if err := s.write(opPong, control); err != nil {
				return nil, free, err
			}
		case opClose:
			return nil, free, closing(closeNormal)
		case opText, opContinue:
			if started = true; final {
				return text, free, nil
			}
		}
	}
}

// frameHead reads everything of a client's frame before its payload.
func frameHead(in *bufio.Reader) (final bool, opcode byte, length int64, mask [4]byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(in, head[:2]); err != nil {
		return final, opcode, length, mask, err
	}
	final, opcode, length = head[0]&finalFrame != 0, head[0]&0x0F, int64(head[1]&^maskedBit)
	if head[0]&0x70 != 0 || head[1]&maskedBit == 0 { // extensions, and what no client sends
		return final, opcode, length, mask, closing(closeProtocol)
	}
	switch length {
	case 126:
		if _, err = io.ReadFull(in, head[:2]); err == nil {
			length = int64(binary.BigEndian.Uint16(head[:2]))
		}
	case 127:
		if _, err = io.ReadFull(in, head[:8]); err == nil {
			if long := binary.BigEndian.Uint64(head[:8]); long > MaxBody {
				err = closing(closeTooLarge)
			} else {
				length = int64(long) //nolint:gosec // it is at most MaxBody
			}
		}
	}
	if err == nil {
		_, err = io.ReadFull(in, mask[:])
	}
	return final, opcode, length, mask, err
}
