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

// conn is the connection to a program: requests both ways, and notifications. One
// goroutine reads it, which ends with the program.
type conn struct {
	write func(line []byte) error
	// asked and told take what the program asks and tells, in order, on the goroutine
	// that reads.
	asked func(id json.RawMessage, method string, params json.RawMessage)
	told  func(method string, params json.RawMessage)
	// redact hides secrets in the program's errors.
	redact func(text string) string
	// large is held while a large message is decoded.
	large *sync.Mutex

	writing sync.Mutex // held for a line

	mu      sync.Mutex // guards what follows
	next    int
	waiting map[string]chan frame
	broken  error // nothing comes any more
	gone    chan struct{}
}

func newConn(write func(line []byte) error) *conn {
	return &conn{write: write, waiting: map[string]chan frame{}, gone: make(chan struct{})}
}

// read reads until the stream ends, says something that is no message, or nobody listens
// any more.
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
			c.asked(f.ID, f.Method, f.Params) // which may wait for the program
		}
	}
}

// take reads a line and takes what it says, but for a request, which it returns.
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
	if waits != nil { // else nobody asked, or nobody waits any more
		waits <- f
	}
	return frame{}, nil
}

// end has everybody who waits know that nothing comes any more.
func (c *conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = why
		close(c.gone)
	}
}

// why is what ended the connection.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// request asks for something and waits for the answer.
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

// begin asks for something. The answer comes once, unless the connection ends before.
func (c *conn) begin(method string, params any) (<-chan frame, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	answer := make(chan frame, 1) // the reader waits for nobody
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	c.waiting[id] = answer
	c.mu.Unlock()
	return answer, c.send(&frame{ID: json.RawMessage(id), Method: method, Params: encoded})
}

// into reads the result of a response.
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

// notify tells something.
func (c *conn) notify(method string, params any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(&frame{Method: method, Params: encoded})
}

// respond answers a request.
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
