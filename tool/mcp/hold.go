package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
)

// The protocol's library decodes what a server sends. Its memory is counted beforehand: for the call that a message
// answers, for the list, or, within a small bound, for the connection.
const (
	decodedFactor = 2         // of JSONHolds: a decoded answer and what is made of it are in memory together
	holdFree      = 64 << 10  // bytes of each message that are not counted
	holdStep      = 1 << 20   // bytes: messages that arrive in pieces are counted in such steps
	listsHold     = 128 << 20 // of the lists of all servers, for each GiB of the memory limit
	noticeHolds   = 1 << 20   // of a message that belongs to no request
)

// hold counts bytes of memory; its error says that there is no room.
type hold func(bytes int64) error

type holdKey struct{}

// withHold makes answers to the requests of ctx count.
func withHold(ctx context.Context, h hold) context.Context {
	return context.WithValue(ctx, holdKey{}, h)
}

// holdOf returns the hold that an answer to a request of ctx counts for; nil if none.
func holdOf(ctx context.Context) hold {
	h, _ := ctx.Value(holdKey{}).(hold)
	return h
}

// message counts a whole message.
func (h hold) message(bytes int64) error {
	switch {
	case h == nil && bytes > noticeHolds:
		return errNotice
	case h == nil || bytes <= holdFree:
		return nil
	}
	return h(bytes)
}

var errNotice = errors.New("the server sends more than anybody has asked for")

// weigh returns how many bytes of memory a message takes.
func weigh(raw []byte) int64 { return int64(len(raw)) + decodedFactor*parley.JSONHolds(raw) }

// codeNoRoom marks an answer that was not decoded because there was no room.
const codeNoRoom = -32090

// noRoom replaces such an answer.
func noRoom(err error) *jsonrpc.Error { return &jsonrpc.Error{Code: codeNoRoom, Message: err.Error()} }

// wholeBody is a body that is one message: it is counted before it is read.
type wholeBody struct {
	io.ReadCloser
	hold hold
	tell unread        // nil: the body is not changed
	text *bytes.Reader // nil until it was read
}

// Read implements io.Reader.
func (b *wholeBody) Read(p []byte) (int, error) {
	if b.text == nil {
		raw, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		if full := b.hold.message(weigh(raw)); full != nil {
			if raw, err = refusedBody(raw, full); err != nil {
				return 0, err
			}
		}
		if b.tell != nil {
			raw = mendMessage(raw, b.tell)
		}
		b.text = bytes.NewReader(raw)
	}
	return b.text.Read(p)
}

// refusedBody returns the message with which a server would refuse the request that a body answers.
func refusedBody(body []byte, why error) ([]byte, error) {
	var answers struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(body, &answers); err != nil {
		return nil, why
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": answers.ID, "error": noRoom(why)})
}

// eventsBody is a stream of events. Each event is counted while it arrives.
type eventsBody struct {
	io.ReadCloser
	hold    hold
	meter   parley.JSONMeter // of the event
	size    int64            // of it, in bytes
	counted int64
	ended   bool // the last line
	flood   *flood
	end     context.CancelCauseFunc // of the connection
}

// Read implements io.Reader. An event without room ends the stream, and with it the request.
func (b *eventsBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		line, next, whole := bytes.Cut(rest, []byte("\n"))
		if b.size += int64(len(line)); len(bytes.TrimSpace(line)) > 0 {
			b.ended = false
		}
		b.meter.Add(line)
		if full := b.count(); full != nil {
			return 0, full
		}
		if whole {
			if b.ended { // an empty line: the next event begins
				if err := b.floods(); err != nil {
					b.end(err)
					return 0, err
				}
				b.meter, b.size, b.counted = parley.JSONMeter{}, 0, 0
			}
			b.ended = true
		}
		rest = next
	}
	return n, err
}

// floods counts a finished event, except for the bytes that counted for its request.
func (b *eventsBody) floods() error {
	if b.counted > 0 {
		return b.flood.message(0)
	}
	return b.flood.message(b.size)
}

func (b *eventsBody) count() error {
	size := b.size + decodedFactor*b.meter.Holds
	if b.hold == nil {
		return b.hold.message(size)
	}
	if size <= holdFree || size <= b.counted {
		return nil
	}
	more := (size - b.counted + holdStep - 1) / holdStep * holdStep
	b.counted += more
	return b.hold(more)
}

// errLongList is for the log: the list is asked for again later.
var errLongList = errors.New("its list of tools takes more memory than this process has for it")

// holdList counts what a server's list takes until done.
func (l *link) holdList(ctx context.Context) (_ context.Context, done func()) {
	holding := l.lists.Holding(l.owner, 0)
	return withHold(ctx, func(bytes int64) error {
		if !holding.Take(bytes) {
			return errLongList
		}
		return nil
	}), holding.End
}

// counting is a connection whose messages are counted before they are decoded.
type counting struct {
	sdk.Connection
	flood *flood

	mu    sync.Mutex // guards all below
	holds map[jsonrpc.ID]hold
	lists map[jsonrpc.ID]unread // of requests whose answers are mended
}

func newCounting(connection sdk.Connection) *counting {
	return &counting{
		Connection: connection, flood: newFlood(),
		holds: map[jsonrpc.ID]hold{}, lists: map[jsonrpc.ID]unread{},
	}
}

// Write implements the SDK's Connection: it notes what the answer to a request counts for.
func (c *counting) Write(ctx context.Context, message jsonrpc.Message) error {
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() && holdOf(ctx) != nil {
		c.mu.Lock()
		c.holds[request.ID] = holdOf(ctx)
		if tell := mendingOf(ctx); tell != nil {
			c.lists[request.ID] = tell
		}
		c.mu.Unlock()
		context.AfterFunc(ctx, func() { c.forget(request.ID) }) // whether it was answered or not
	}
	if _, answers := message.(*jsonrpc.Response); answers {
		defer c.flood.done()
	}
	markSent(ctx, true)
	return c.Connection.Write(ctx, message)
}

func (c *counting) forget(id jsonrpc.ID) (hold, unread) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, tell := c.holds[id], c.lists[id]
	delete(c.holds, id)
	delete(c.lists, id)
	return h, tell
}

// Read implements the SDK's Connection.
func (c *counting) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	switch m := message.(type) {
	case *jsonrpc.Response:
		h, tell := c.forget(m.ID)
		if err := h.message(weigh(m.Result)); err != nil {
			return &jsonrpc.Response{ID: m.ID, Error: noRoom(err)}, nil
		}
		if tell != nil {
			m.Result = mendList(m.Result, tell)
		}
	case *jsonrpc.Request:
		if err := hold(nil).message(weigh(m.Params)); err != nil {
			return nil, err
		}
		if err := c.flood.message(int64(len(m.Params))); err != nil {
			return nil, err
		}
		if m.IsCall() {
			if err := c.flood.open(); err != nil {
				return nil, err
			}
		}
	}
	return message, nil
}
