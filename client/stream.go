package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
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
	// Event is what the frame tells: a pointer to the struct of its type in package event, nil for a type that this
	// client does not know.
	Event event.Payload   `json:"-"`
	Data  json.RawMessage `json:"data"` // Event as it came
}

// frames sends a request and ranges over the frames of its answer. A stream that breaks is taken up again behind the
// last frame: one that is asked for by GET never ends by itself, one that runs a turn ends with the turn. What begins
// no turn has no frames.
func (c *Client) frames(ctx context.Context, r request) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		r.accept, r.lasting = eventStream, true
		if err := r.prepare(); err != nil {
			yield(Frame{}, err)
			return
		}
		if r.flush != nil {
			if r.query == nil {
				r.query = url.Values{}
			}
			r.query.Set("flush_ms", strconv.FormatInt(r.flush.Milliseconds(), 10))
		}
		f := following{client: c, request: &r, seen: map[parley.ID]int64{}}
		for {
			err := f.follow(ctx, yield)
			if err == nil {
				return
			}
			wait, again := c.again(&r, err, f.failures)
			if !again {
				yield(Frame{}, bare(err))
				return
			}
			f.failures++
			if err := rest(ctx, wait); err != nil {
				yield(Frame{}, err)
				return
			}
		}
	}
}

// following is a stream over all of its connections.
type following struct {
	client   *Client
	request  *request
	seen     map[parley.ID]int64 // the last event of each session
	failures int                 // in a row, without a new frame between
}

// follow reads one connection. It returns nil when the stream is over: its turn has ended, or its reader has left.
func (f *following) follow(ctx context.Context, yield func(Frame, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.resume()
	return f.client.once(ctx, f.request, func(ctx context.Context, response *http.Response) error {
		defer response.Body.Close() //nolint:errcheck // a stream that is left early has nothing to say
		if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == jsonMedia {
			return nil // no turn began
		}
		lines, ended, begun := bufio.NewReaderSize(response.Body, 64<<10), false, false
		for {
			frame, err := readFrame(lines)
			switch {
			case err == nil:
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, io.EOF) && (ended || !begun) && f.request.method != http.MethodGet:
				return nil // the turn has ended, or none began
			case parley.ErrorCode(err) != parley.CodeInternal: // the server said what cannot be read
				return err
			default:
				return refusal{transient: true, error: parley.WrapError(
					parley.CodeUnavailable, err, "the stream broke off; the turn goes on at the server")}
			}
			if frame.ID > 0 {
				if frame.ID <= f.seen[frame.SessionID] {
					continue // told before the connection broke
				}
				f.seen[frame.SessionID] = frame.ID
			}
			f.failures = 0
			begun, ended = true, ended || frame.Type.EndsTurn()
			if !yield(frame, nil) {
				return nil
			}
		}
	})
}

// resume asks for what comes behind the events that were seen.
func (f *following) resume() {
	if f.request.method != http.MethodGet {
		return // the repeated request joins its turn
	}
	if places := f.request.query["session"]; len(places) > 0 { // the workspace's feed
		for i, place := range places {
			name, _, _ := strings.Cut(place, ":")
			if id, err := parley.ParseID(name); err == nil && f.seen[id] > 0 {
				places[i] = id.String() + ":" + strconv.FormatInt(f.seen[id], 10)
			}
		}
		return
	}
	for _, last := range f.seen {
		f.request.after = strconv.FormatInt(last, 10)
	}
}

// readFrame reads up to the end of a frame; comments are skipped.
func readFrame(lines *bufio.Reader) (Frame, error) {
	var frame Frame
	for {
		line, err := readLine(lines)
		if err != nil {
			return Frame{}, err
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			frame.Type = parley.EventType(value)
		case "id":
			frame.ID, _ = strconv.ParseInt(value, 10, 64) // an id that is not a number is not Parley's
		case "data":
			frame.Data = json.RawMessage(value)
		case "":
			if len(line) == 0 && frame.Type != "" {
				return frame, frame.unwrap()
			}
		}
	}
}

// unwrap takes the envelope off the data and decodes the event.
func (f *Frame) unwrap() error {
	var envelope struct {
		SessionID parley.ID       `json:"session_id"`
		Data      json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(f.Data, &envelope)
	if err == nil {
		f.SessionID, f.Data = envelope.SessionID, envelope.Data
		f.Event, err = event.Decode(f.Type, f.Data)
	}
	if err != nil {
		return parley.WrapError(parley.CodeUnavailable, err, "the server sent a frame that cannot be read")
	}
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
