package acpwire

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

// Conn is a connection: requests in both directions, and notifications. One goroutine reads it.
type Conn struct {
	// Asked and Told handle the other side's requests and notifications, in order, on the goroutine that reads.
	Asked func(id json.RawMessage, method string, params json.RawMessage)
	Told  func(method string, params json.RawMessage)
	// Redact hides secrets in the other side's errors; nil hides nothing.
	Redact func(text string) string
	// Large is held while a large message is decoded; nil: large messages are decoded beside others.
	Large *sync.Mutex
	// Longest bounds a message in bytes; 0 means MaxFrameBytes.
	Longest int
	// Lenient answers a line that is not a message with an error, and reads on.
	Lenient bool
	// Gone is closed when nothing can arrive any more.
	Gone chan struct{}

	write   func(line []byte) error
	writing sync.Mutex // held while a line is written

	mu      sync.Mutex // guards the fields below
	next    int
	waiting map[string]chan Frame
	broken  error // set when nothing can arrive any more
}

// NewConn returns a connection that sends each of its messages by one call of write.
func NewConn(write func(line []byte) error) *Conn {
	return &Conn{write: write, waiting: map[string]chan Frame{}, Gone: make(chan struct{})}
}

// Read reads until the stream ends, a line is not a message, or the connection is closed.
func (c *Conn) Read(from io.Reader) error {
	longest := c.Longest
	if longest == 0 {
		longest = MaxFrameBytes
	}
	reader := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := nextLine(reader, longest)
		if err == nil {
			err = c.Why()
		}
		if err != nil {
			return err
		}
		f, err := c.take(line)
		switch {
		case errors.Is(err, ErrNoFrame) && c.Lenient:
			err = c.Refuse(json.RawMessage("null"), CodeUnreadable, err)
		case err == nil && f.Method != "" && len(f.ID) > 0:
			c.Asked(f.ID, f.Method, f.Params) // this may wait for the other side
		}
		if err != nil {
			return err
		}
	}
}

// take reads and handles one message. It returns requests instead of handling them.
func (c *Conn) take(line []byte) (Frame, error) {
	if len(line) > largeFrame && c.Large != nil {
		c.Large.Lock()
		defer c.Large.Unlock()
	}
	f, err := parseFrame(line)
	switch {
	case err != nil || f.Method != "" && len(f.ID) > 0:
		return f, err
	case f.Method != "":
		c.Told(f.Method, f.Params)
		return Frame{}, nil
	}
	if f.Error != nil {
		f.Error.Message = parley.Clip(f.Error.Message, maxErrorBytes)
		if c.Redact != nil {
			f.Error.Message = c.Redact(f.Error.Message)
		}
	}
	c.mu.Lock()
	waits := c.waiting[string(f.ID)]
	delete(c.waiting, string(f.ID))
	c.mu.Unlock()
	if waits != nil { // otherwise no request has this id, or its caller has given up
		waits <- f
	}
	return Frame{}, nil
}

// End fails all waiting requests: no more answers will arrive.
func (c *Conn) End(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = why
		close(c.Gone)
	}
}

// Why returns the error that ended the connection.
func (c *Conn) Why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Request sends a request and waits for the answer.
func (c *Conn) Request(ctx context.Context, method string, params, into any) error {
	_, err := c.request(ctx, method, params, into)
	return err
}

// Ask is Request, and withdraws the request when ctx ends before the answer.
func (c *Conn) Ask(ctx context.Context, method string, params, into any) error {
	id, err := c.request(ctx, method, params, into)
	if err != nil && id != "" && ctx.Err() != nil {
		_ = c.Notify(MethodCancelRequest, struct { // a connection that is gone needs to know nothing
			ID json.RawMessage `json:"requestId"`
		}{json.RawMessage(id)})
	}
	return err
}

func (c *Conn) request(ctx context.Context, method string, params, into any) (id string, err error) {
	id, answer, err := c.begin(method, params)
	if err != nil {
		return "", err
	}
	select {
	case f := <-answer:
		return "", f.Into(into)
	case <-c.Gone:
		return "", c.Why()
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		return id, context.Cause(ctx)
	}
}

// Begin sends a request. Its channel receives the answer, unless the connection ends first.
func (c *Conn) Begin(method string, params any) (<-chan Frame, error) {
	_, answer, err := c.begin(method, params)
	return answer, err
}

func (c *Conn) begin(method string, params any) (id string, answer chan Frame, err error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return "", nil, err
	}
	answer = make(chan Frame, 1) // buffered: the reader never blocks on it
	c.mu.Lock()
	c.next++
	id = strconv.Itoa(c.next)
	c.waiting[id] = answer
	c.mu.Unlock()
	return id, answer, c.send(&Frame{ID: json.RawMessage(id), Method: method, Params: encoded})
}

// Into decodes the result of a response.
func (f *Frame) Into(into any) error {
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

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(&Frame{Method: method, Params: encoded})
}

// Respond answers a request with a result.
func (c *Conn) Respond(id json.RawMessage, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return c.send(&Frame{ID: id, Result: encoded})
}

// Refuse answers a request with an error.
func (c *Conn) Refuse(id json.RawMessage, code int, why error) error {
	text := why.Error()
	var known *parley.Error
	if errors.As(why, &known) {
		text = known.Message
	}
	return c.Fail(id, &Fault{Code: code, Message: text})
}

// Fail answers a request with an error and what it carries.
func (c *Conn) Fail(id json.RawMessage, fault *Fault) error {
	fault.Message = parley.Clip(fault.Message, 1024)
	return c.send(&Frame{ID: id, Error: fault})
}

func (c *Conn) send(f *Frame) error {
	line, err := f.encode()
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(line)
}
