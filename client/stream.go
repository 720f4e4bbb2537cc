package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/event"
)

// maxFrameLine bounds one line of a stream: a settled step comes whole.
const maxFrameLine = 64 << 20

// Frame is one frame of an event stream.
type Frame struct {
	ID        int64            `json:"id,omitempty"` // sequence of a durable event; 0 for live ones
	Type      parley.EventType `json:"type"`
	SessionID parley.ID        `json:"session_id"`
	Data      json.RawMessage  `json:"data"`
}

// Event reads what the frame tells: a pointer to the struct of its type, or nil for
// a type that this client does not know.
func (f Frame) Event() (event.Payload, error) { return event.Decode(f.Type, f.Data) }

// Delta reads a step.generating frame's data.
func (f Frame) Delta() (event.StepGenerating, error) {
	var delta event.StepGenerating
	err := json.Unmarshal(f.Data, &delta)
	return delta, err
}

// SettledStep reads the data of a step.generated or step.error frame.
func (f Frame) SettledStep() (event.Settled, error) {
	var step event.Settled
	err := json.Unmarshal(f.Data, &step)
	return step, err
}

// Turn reads the turn that a terminal frame carries.
func (f Frame) Turn() (parley.Turn, error) {
	var end event.TurnEnd
	err := json.Unmarshal(f.Data, &end)
	return end.Turn, err
}

// StreamMessage posts a message and ranges over its turn's frames up to the
// terminal one. Leaving the loop cancels nothing.
func (c *Client) StreamMessage(
	ctx context.Context,
	session parley.ID,
	input MessageInput,
	key string,
) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		body, err := json.Marshal(input)
		if err != nil {
			yield(Frame{}, parley.WrapError(parley.CodeInvalid, err, "the message cannot be encoded"))
			return
		}
		header := keyHeader(key)
		if header == nil {
			header = http.Header{}
		}
		header.Set("Accept", "text/event-stream")
		c.frames(ctx, http.MethodPost, "/v1/sessions/"+session.String()+"/messages", nil, body, header, yield)
	}
}

// Watch ranges over a session's frames after an event sequence, until ctx ends
// or the connection breaks (the error then has CodeUnavailable: watch again
// after the last ID seen).
func (c *Client) Watch(ctx context.Context, session parley.ID, after int64) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		query := url.Values{"after": {strconv.FormatInt(after, 10)}}
		header := http.Header{"Accept": {"text/event-stream"}}
		c.frames(ctx, http.MethodGet, "/v1/sessions/"+session.String()+"/events", query, nil, header, yield)
	}
}

func (c *Client) frames(
	ctx context.Context,
	method, path string,
	query url.Values,
	body []byte,
	header http.Header,
	yield func(Frame, error) bool,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := c.request(ctx, method, path, query, body, header)
	if err != nil {
		yield(Frame{}, err)
		return
	}
	defer response.Body.Close() //nolint:errcheck // a stream that is left early has nothing to say
	lines := bufio.NewReaderSize(response.Body, 64<<10)
	ended := false
	var frame Frame
	for {
		line, err := readLine(lines)
		if err != nil {
			switch {
			case ctx.Err() != nil:
				yield(Frame{}, context.Cause(ctx))
			case errors.Is(err, io.EOF) && ended:
			default:
				yield(
					Frame{},
					parley.WrapError(
						parley.CodeUnavailable,
						err,
						"the stream broke off; the turn goes on at the server",
					),
				)
			}
			return
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			frame.Type = parley.EventType(value)
		case "id":
			frame.ID, _ = strconv.ParseInt(value, 10, 64) // an id that is no number is none of Parley's
		case "data":
			frame.Data = json.RawMessage(value)
		case "":
			if len(line) > 0 || frame.Type == "" { // a comment, or nothing yet
				continue
			}
			if err := frame.unwrap(); err != nil {
				yield(Frame{}, err)
				return
			}
			ended = ended || frame.Type.EndsTurn()
			if !yield(frame, nil) {
				return
			}
			frame = Frame{}
		}
	}
}

// unwrap takes the envelope off the data.
func (f *Frame) unwrap() error {
	var envelope struct {
		SessionID parley.ID       `json:"session_id"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(f.Data, &envelope); err != nil {
		return parley.WrapError(parley.CodeUnavailable, err, "the server sent a frame that cannot be read")
	}
	f.SessionID, f.Data = envelope.SessionID, envelope.Data
	return nil
}

func readLine(from *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := from.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxFrameLine {
				return nil, parley.Errorf(parley.CodeTooLarge, "a frame is longer than %d bytes", maxFrameLine)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(append(long, part...), "\r\n"), nil
	}
}
