package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"

	"example.org/parley"
)

// conn is the connection to a program: requests in both directions, and notifications. One goroutine reads it and ends
// with the program.
type conn struct {
	write func(line []byte) error
	// asked and told handle the program's requests and notifications, in order, on the goroutine that reads.
	asked func(id json.RawMessage, method string, params json.RawMessage)
	told  func(method string, params json.RawMessage)
	// redact hides secrets in the program's errors.
	redact func(text string) string
	// large is held while a large message is decoded.
	large *sync.Mutex

	writing sync.Mutex // held while a line is written

	mu      sync.Mutex // guards the fields below
	next    int
	waiting map[string]chan frame
	broken  error // set when nothing can arrive any more
	gone    chan struct{}
}

func newConn(write func(line []byte) error) *conn {
	return &conn{write: write, waiting: map[string]chan frame{}, gone: make(chan struct{})}
}

// read reads until the stream ends, a line is not a message, or the connection is closed.
func (c *conn) read(from io.Reader) error {
	reader := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := nextLine(reader)
		if err == nil {
			err = c.why()
		}
		if err != nil {
			return err
		}
		f, err := c.take(line)
		if err != nil {
			return err
		}
		if f.Method != "" && len(f.ID) > 0 {
			c.asked(f.ID, f.Method, f.Params) // this may wait for the program
		}
	}
}

// take reads and handles one message. It returns requests instead of handling them.
func (c *conn) take(line []byte) (frame, error) {
	if len(line) > largeFrame {
		c.large.Lock()
		defer c.large.Unlock()
	}
	f, err := parseFrame(line)
	switch {
	case err != nil || f.Method != "" && len(f.ID) > 0:
		return f, err
	case f.Method != "":
		c.told(f.Method, f.Params)
		return frame{}, nil
	}
	if f.Error != nil {
		f.Error.Message = c.redact(parley.Clip(f.Error.Message, maxErrorBytes))
	}
	c.mu.Lock()
	waits := c.waiting[string(f.ID)]
	delete(c.waiting, string(f.ID))
	c.mu.Unlock()
	if waits != nil { // otherwise no request has this id, or its caller has given up
		waits <- f
	}
	return frame{}, nil
}

// end fails all waiting requests: no more answers will arrive.
func (c *conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = why
		close(c.gone)
	}
}

// why returns the error that ended the connection.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// request sends a request and waits for the answer.
func (c *conn) request(ctx context.Context, method string, params, into any) error {
	answer, err := c.begin(method, params)
	if err != nil {
		return err
	}
	select {
	case f := <-answer:
		return f.into(into)
	case <-c.gone:
		return c.why()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin sends a request. Its channel receives the answer, unless the connection ends first.
func (c *conn) begin(method string, params any) (<-chan frame, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	answer := make(chan frame, 1) // buffered: the reader never blocks on it
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	c.waiting[id] = answer
	c.mu.Unlock()
	return answer, c.send(&frame{ID: json.RawMessage(id), Method: method, Params: encoded})
}

// into decodes the result of a response.
func (f *frame) into(into any) error {
	if f.Error != nil {
		return f.Error
	}
	if into == nil || len(f.Result) == 0 {
		return nil
	}
	if err := json.Unmarshal(f.Result, into); err != nil {
		return errors.New("its answer does not have the form of the protocol")
	}
	return nil
}

// notify sends a notification.
func (c *conn) notify(method string, params any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(&frame{Method: method, Params: encoded})
}

// respond answers a request with a result.
func (c *conn) respond(id json.RawMessage, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return c.send(&frame{ID: id, Result: encoded})
}

// refuse answers a request with an error.
func (c *conn) refuse(id json.RawMessage, code int, why error) error {
	text := why.Error()
	var known *parley.Error
	if errors.As(why, &known) {
		text = known.Message
	}
	return c.send(&frame{ID: id, Error: &wireError{Code: code, Message: parley.Clip(text, 1024)}})
}

func (c *conn) send(f *frame) error {
	line, err := f.encode()
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(line)
}
