package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/llm/sse"
	"example.org/parley/model"
)

const (
	maxErrorBody = 64 << 10              // bytes read of an error's body
	maxDocument  = 1 << 20               // bytes read of an answer that came whole, for its usage
	tailWait     = 5 * time.Second       // for usage and the end marker, once the answer is otherwise complete
	wholeTail    = 4 * tailWait          // for all of that, however much trickles in
	drainWait    = 50 * time.Millisecond // for the end of the body after the end marker, to reuse the connection
	drainBytes   = 64 << 10              // bytes read meanwhile
)

// Decoder turns the frames of one answer into chunks.
type Decoder interface {
	// Decode appends a frame's chunks. done means that the answer is over: the chunks end with ChunkFinish. An error is
	// a *FailureError if the provider reported it; otherwise the wire is broken.
	Decode(frame sse.Frame, chunks []model.Chunk) (_ []model.Chunk, done bool, err error)
	// Complete reports whether the answer could end here, though its end marker is missing.
	Complete() bool
	// End is called if the wire ends before done. It appends the rest of a complete answer, and returns an error for
	// any other.
	End(chunks []model.Chunk) ([]model.Chunk, error)
	// UsageOf returns the usage that an answer reports which came as one document instead of a stream.
	UsageOf(document []byte) parley.Usage
}

// FailureError is an error that the provider sent inside a stream.
type FailureError struct{ Failure Failure }

// Error returns what the provider said, not redacted.
func (e *FailureError) Error() string { return e.Failure.Message }

// ErrUnfinished means that the wire ended before the answer was complete.
var ErrUnfinished = errors.New("the stream ended without its end marker")

// noRoom is the end of an answer that comes in long pieces, beside too many others.
const noRoom = "long pieces of this provider's answers hold as much memory as they may on this server; try again " +
	"when one has ended"

// ErrMalformed means that a frame does not follow the format.
var ErrMalformed = errors.New("the stream holds something that is not JSON")

// Stream sends body and yields the decoded answer, as model.Model requires. Each range over the sequence is a new
// request, with a new decoder.
func (e *Endpoint) Stream(ctx context.Context, body []byte, newDecoder func() Decoder) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		x := exchange{endpoint: e, ctx: ctx}
		defer x.close()
		decoder := newDecoder()
		err := x.open(body)
		if err != nil && len(x.document) > 0 { // it was paid for
			used := decoder.UsageOf(x.document)
			if !used.IsZero() && !yield(model.Chunk{Kind: model.ChunkUsage, Usage: used}, nil) {
				return
			}
		}
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		x.relay(decoder, yield)
	}
}

// exchange is one request and its answer.
type exchange struct {
	endpoint *Endpoint
	ctx      context.Context         //nolint:containedctx // the caller's; an exchange does not outlive its call
	call     context.Context         //nolint:containedctx // ctx, or a deadline
	cancel   context.CancelCauseFunc // of call
	timer    *time.Timer             // cancels call when the deadline that holds now passes; stopped by close
	idle     time.Duration           // how long a read may take, 0 while the first token's deadline runs
	tail     *time.Timer             // ends call if a complete answer does not end; nil before; stopped by close
	body     io.ReadCloser           // nil before the answer
	size     int                     // bytes of content so far
	ended    bool                    // the body has nothing more to give
	document []byte                  // the answer, if it came as JSON that reports no error
}

// open sends the request and returns when the answer has begun.
func (x *exchange) open(body []byte) error {
	e := x.endpoint
	x.call, x.cancel = context.WithCancelCause(x.ctx)
	patience := e.firstToken
	if model.LessPatience(x.ctx) {
		patience /= lessPatience
	}
	silent := fmt.Sprintf("the provider sent no content for %s", patience)
	first := model.NewError(parley.ClassNetwork, true, silent, nil)
	x.timer = time.AfterFunc(patience, func() { x.cancel(first) })
	request, err := http.NewRequestWithContext(x.call, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return x.unreachable(err)
	}
	request.Header = e.header.Clone()
	response, err := e.client.Do(request) //nolint:bodyclose // close() does
	if err != nil {
		return x.unreachable(err)
	}
	x.body = response.Body
	if sink := model.RawFrom(x.ctx); sink != nil {
		x.body = &rawBody{ReadCloser: response.Body, sink: sink, secret: e.secret}
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 && streams(response.Header) {
		return nil
	}
	return x.refused(response)
}

// streams reports whether an answer may be an event stream: servers label theirs in many ways, but never as a document.
// An answer compressed without request cannot be read.
func streams(h http.Header) bool {
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return false
	}
	media := mediaTypeOf(h)
	return media != mediaJSON && media != "application/problem+json" && media != "text/html"
}

const mediaJSON = "application/json"

func mediaTypeOf(h http.Header) string {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media
}

// refused reads an answer that is not a stream.
func (x *exchange) refused(response *http.Response) error {
	most := int64(maxErrorBody)
	whole := response.StatusCode < 300 && mediaTypeOf(response.Header) == mediaJSON
	if whole {
		most = maxDocument
	}
	body, readErr := io.ReadAll(io.LimitReader(x.body, most))
	if readErr != nil && x.call.Err() != nil {
		return x.broken(readErr)
	}
	secret := x.endpoint.secret
	switch status := response.StatusCode; {
	case status >= 300 && status < 400:
		host := ""
		if at, err := url.Parse(response.Header.Get("Location")); err == nil {
			host = at.Host
		}
		return Classify(
			Failure{
				Status: status,
				Message: fmt.Sprintf(
					"the base URL redirects (status %d, to host %q), which is not followed: configure the URL that "+
						"it leads to",
					status,
					parley.Clip(host, 128),
				),
			},
			secret,
		)
	case whole && json.Valid(body) && !reportsError(body):
		x.document = body
		e := model.NewError(
			parley.ClassModel,
			true,
			"the provider answered with one JSON document where an event stream was asked for",
			nil,
		)
		e.Status = status
		return e
	case status < 300 && !bytes.Contains(body, []byte(`"error"`)):
		form := strings.TrimSpace(
			parley.Clip(
				response.Header.Get("Content-Encoding"),
				64,
			) + " " + parley.Clip(
				response.Header.Get("Content-Type"),
				64,
			),
		)
		e := model.NewError(
			parley.ClassModel,
			false,
			Redact(
				"the provider answered with "+form+" where an event stream was asked for: check the base URL",
				secret,
			),
			nil,
		)
		e.Status = status
		return e
	}
	failure := ParseFailure(body)
	failure.Status = response.StatusCode
	failure.RetryAfter = RetryAfter(response.Header, time.Now())
	return Classify(failure, secret)
}

// reportsError reports whether a JSON document is an error: it has one that is not null.
func reportsError(document []byte) bool {
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(document, &said) != nil || len(said.Error) > 0 && string(said.Error) != "null"
}

// relay yields the answer's chunks.
func (x *exchange) relay(decoder Decoder, yield func(model.Chunk, error) bool) {
	reader := sse.NewReader(x, x.endpoint.frames)
	defer reader.Release()
	chunks := make([]model.Chunk, 0, 8)
	for {
		frame, err := reader.Next()
		if err == nil {
			err = x.ctx.Err() // a cancel drops buffered chunks, too
		}
		done := false
		chunks = chunks[:0]
		switch {
		case err == nil:
			chunks, done, err = decoder.Decode(frame, chunks)
			if frame.Cut && errors.Is(err, ErrMalformed) {
				err = ErrUnfinished
			}
		case errors.Is(err, io.EOF), decoder.Complete() && x.ctx.Err() == nil:
			chunks, err = decoder.End(chunks)
			done = err == nil
			x.ended = true
		}
		for i := range chunks {
			if err := x.count(&chunks[i]); err != nil {
				yield(model.Chunk{}, err)
				return
			}
			if !yield(chunks[i], nil) {
				if done && chunks[i].Kind == model.ChunkFinish {
					x.drain()
				}
				return
			}
		}
		switch {
		case err != nil:
			yield(model.Chunk{}, x.broken(err))
			return
		case done:
			x.drain()
			return
		case decoder.Complete() && x.tail == nil:
			x.idle = min(tailWait, x.endpoint.idle)
			x.tail = time.AfterFunc(wholeTail, func() { x.cancel(ErrUnfinished) })
		}
	}
}

// count bounds the answer, and ends the deadline for the first token.
func (x *exchange) count(c *model.Chunk) error {
	if c.Kind == model.ChunkUsage || c.Kind == model.ChunkFinish {
		return nil
	}
	if x.idle == 0 {
		x.timer.Stop()
		x.idle = x.endpoint.idle
		x.timer = time.AfterFunc(x.idle, x.stalled)
		x.timer.Stop()
	}
	if c.Kind == model.ChunkProviderData {
		return nil
	}
	if c.Citation != nil {
		x.size += c.Citation.Size()
	}
	if x.size += len(c.Text); x.size > parley.MaxAnswerBytes {
		return model.NewError(
			parley.ClassStream,
			false,
			fmt.Sprintf("the answer is longer than %d bytes", parley.MaxAnswerBytes),
			nil,
		)
	}
	return nil
}

// Read reads the body under the current deadline. Only time spent waiting for the provider counts, not the consumer's.
func (x *exchange) Read(p []byte) (int, error) {
	if x.ctx.Err() != nil {
		return 0, x.ctx.Err()
	}
	if x.idle == 0 {
		return x.body.Read(p)
	}
	x.timer.Reset(x.idle)
	n, err := x.body.Read(p)
	x.timer.Stop()
	return n, err
}

func (x *exchange) stalled() {
	x.cancel(
		model.NewError(
			parley.ClassStream,
			true,
			fmt.Sprintf("the provider sent nothing for %s in the middle of its answer", x.endpoint.idle),
			nil,
		),
	)
}

// drain waits briefly for the body's end, after which the connection can be reused.
func (x *exchange) drain() {
	if x.ended {
		return
	}
	x.timer.Stop()
	x.timer = time.AfterFunc(drainWait, func() { x.cancel(context.Canceled) })
	_, _ = io.CopyN(io.Discard, x.body, drainBytes) // an error only costs the connection
}

func (x *exchange) close() {
	x.timer.Stop()
	if x.tail != nil {
		x.tail.Stop()
	}
	if x.body != nil {
		_ = x.body.Close() // nothing was written, nothing can be lost
	}
	x.cancel(context.Canceled)
}

// unreachable returns the error of a request without an answer.
func (x *exchange) unreachable(err error) error {
	if err := x.stopped(); err != nil {
		return err
	}
	var wrapped *url.Error // its text has the whole URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return model.NewError(
		parley.ClassNetwork,
		true,
		Redact("the provider could not be reached: "+err.Error(), x.endpoint.secret),
		nil,
	)
}

// stopped returns the caller's cause, or the deadline that passed, or nil.
func (x *exchange) stopped() error {
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	return context.Cause(x.call)
}

// broken returns the error of an answer that did not reach its end.
func (x *exchange) broken(err error) error {
	var failure *FailureError
	var tooLong *sse.TooLongError
	switch {
	case errors.As(err, &failure):
		failure.Failure.Status = http.StatusOK
		return Classify(failure.Failure, x.endpoint.secret)
	case errors.As(err, &tooLong):
		return model.NewError(parley.ClassStream, false, tooLong.Error(), nil)
	case errors.Is(err, sse.ErrNoRoom):
		return model.NewError(parley.ClassLimit, false, noRoom, nil)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrUnfinished
	}
	if stopped := x.stopped(); stopped != nil {
		return stopped
	}
	return model.NewError(parley.ClassStream, true, Redact(err.Error(), x.endpoint.secret), nil)
}
