package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
)

// How requests are repeated. A pause is a random part of a bound that doubles with each attempt; where the server says
// how long to wait, and that is at most maxRetryAfter, it is that.
const (
	DefaultRetries = 3
	firstPause     = 200 * time.Millisecond
	maxPause       = 5 * time.Second
	maxRetryAfter  = 5 * time.Second
)

const (
	keyHeader      = "Idempotency-Key"
	sequenceHeader = "Parley-Event-Sequence"
	eventStream    = "text/event-stream"
	jsonMedia      = "application/json"
	bytesMedia     = "application/octet-stream"
)

// request is what a generated method asks for.
type request struct {
	method, path string
	query        url.Values
	input        any       // encoded as JSON; nil: no body
	from         io.Reader // the body, read as it is sent; such a request is not repeated
	keyed        bool      // takes an idempotency key
	lasting      bool      // its answer waits for something slow: its time is the context's
	options      []Option
	header       http.Header // more headers; nil: none
	anyStatus    bool        // the caller reads errors, too

	key      string
	once     bool
	sequence *int64
	flush    *time.Duration
	accept   string
	after    string // Last-Event-ID
	body     []byte // input, encoded
}

// prepare applies the options and encodes the input.
func (r *request) prepare() error {
	for _, option := range r.options {
		option(r)
	}
	switch {
	case !r.keyed:
		r.key = ""
	case r.key == "" && !r.once:
		r.key = parley.NewID().String()
	}
	if r.input == nil {
		return nil
	}
	var err error
	if r.body, err = json.Marshal(r.input); err != nil {
		return parley.WrapError(parley.CodeInvalid, err, "the request cannot be encoded")
	}
	return nil
}

// repeatable reports a request that does no more when it arrives twice.
func (r *request) repeatable() bool {
	switch {
	case r.once || r.from != nil:
		return false
	case r.method == http.MethodGet || r.method == http.MethodPut || r.method == http.MethodDelete:
		return true
	}
	return r.key != ""
}

// refusal is an error with what decides whether the request is sent again.
type refusal struct {
	error

	transient bool          // what failed may work in a moment; the request may have had its effect
	wait      time.Duration // the server has refused it and says when to come back; 0: it says nothing
}

func (r refusal) Unwrap() error { return r.error }

// again reports whether a request that failed is sent again, and after which pause.
func (c *Client) again(r *request, err error, attempt int) (time.Duration, bool) {
	var refused refusal
	if attempt >= c.retries || r.once || !errors.As(err, &refused) {
		return 0, false
	}
	if refused.wait > 0 { // nothing was done: any request may come back
		return refused.wait, refused.wait <= maxRetryAfter && r.from == nil
	}
	return pause(attempt), refused.transient && r.repeatable()
}

func pause(attempt int) time.Duration {
	bound := min(firstPause<<min(attempt, 16), maxPause)
	return bound/2 + rand.N(bound/2) //nolint:gosec // spreads retries, keeps no secret
}

// rest waits, and returns the context's cause if that ends first.
func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// bare is an error as callers see it.
func bare(err error) error {
	var refused refusal
	if errors.As(err, &refused) {
		return refused.error
	}
	return err
}

// perform sends a request, again if need be, and lets take read an answer of the 2xx family; take closes its body.
func (c *Client) perform(ctx context.Context, r *request, take func(context.Context, *http.Response) error) error {
	if err := r.prepare(); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, r, take)
		if attempt > 0 && r.method == http.MethodDelete && parley.ErrorCode(err) == parley.CodeNotFound {
			return nil // an attempt before has deleted it, and its answer was lost
		}
		wait, again := c.again(r, err, attempt)
		if !again {
			return bare(err)
		}
		if err := rest(ctx, wait); err != nil {
			return err
		}
	}
}

// once sends a request one time. What does not last has answerDeadline for it.
func (c *Client) once(ctx context.Context, r *request, take func(context.Context, *http.Response) error) error {
	if !r.lasting {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, answerDeadline,
			parley.Errorf(parley.CodeUnavailable, "the server at %s did not answer in %s", c.base, answerDeadline))
		defer cancel()
	}
	response, err := c.exchange(ctx, r) //nolint:bodyclose // take closes it
	if err != nil {
		return err
	}
	if r.sequence != nil {
		if n, err := strconv.ParseInt(response.Header.Get(sequenceHeader), 10, 64); err == nil {
			*r.sequence = n
		}
	}
	return take(ctx, response)
}

// exchange sends a request and returns an answer of the 2xx family.
func (c *Client) exchange(ctx context.Context, r *request) (*http.Response, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	body, media := r.from, bytesMedia
	if body == nil && r.body != nil {
		body, media = bytes.NewReader(r.body), jsonMedia
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "the request cannot be made")
	}
	if r.header != nil {
		sent.Header = r.header
	}
	for name, value := range map[string]string{
		keyHeader: r.key, "Parley-Workspace": c.workspace, "Accept": r.accept, "Last-Event-ID": r.after,
	} {
		if value != "" {
			sent.Header.Set(name, value)
		}
	}
	if body != nil {
		sent.Header.Set("Content-Type", media)
	}
	if c.key != "" {
		sent.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		var refused *parley.Error
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &refused): // by the caller's own HTTP client
			return nil, refused
		}
		return nil, refusal{transient: true, error: parley.WrapError(parley.CodeUnavailable, errors.Unwrap(err),
			"no Parley server answers at "+c.base+"; start one with: parley serve")}
	}
	if response.StatusCode/100 != 2 && !r.anyStatus {
		defer response.Body.Close() //nolint:errcheck // nothing is lost with a body that was read or is of no use
		return nil, problem(response)
	}
	return response, nil
}

// problem reads an RFC 9457 body back into the error that the server had.
func problem(response *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // a cut body still has a status
	var body struct {
		Code     parley.Code   `json:"code"`
		Title    string        `json:"title"`
		Detail   string        `json:"detail"`
		State    string        `json:"state"`
		End      *int          `json:"end"`
		Versions *parley.Stale `json:"versions"`
		Errors   []struct {
			Field   string `json:"field"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	var wait time.Duration
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		wait = time.Duration(min(seconds, 1<<30)) * time.Second
	}
	transient := response.StatusCode == http.StatusBadGateway ||
		response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout
	if json.Unmarshal(raw, &body) != nil || body.Code == "" {
		return refusal{
			error:     parley.Errorf(parley.CodeUnavailable, "the server answered %s", response.Status),
			transient: transient,
		}
	}
	failure := parley.Errorf(body.Code, "%s", body.Detail)
	failure.State, failure.End, failure.Stale, failure.RetryAfter = body.State, body.End, body.Versions, wait
	if failure.Message == "" {
		failure.Message = body.Title
	}
	for _, e := range body.Errors {
		if failure.Field == "" {
			failure.Field = e.Field
		}
		if !strings.Contains(failure.Message, e.Message) {
			failure.Message += "; " + e.Message
		}
	}
	if response.StatusCode != http.StatusTooManyRequests {
		wait = 0
	}
	return refusal{error: failure, transient: transient, wait: wait}
}

// send sends a request and decodes the answer's JSON.
func send[Out any](ctx context.Context, c *Client, r request) (out Out, err error) {
	err = c.sendInto(ctx, &r, &out)
	return out, err
}

// sendInto is send for every type, so that it is compiled once.
func (c *Client) sendInto(ctx context.Context, r *request, out any) error {
	return c.perform(ctx, r, func(ctx context.Context, response *http.Response) error {
		raw, err := whole(ctx, response)
		if err != nil || len(raw) == 0 {
			return err
		}
		if err := json.Unmarshal(raw, out); err != nil {
			return parley.WrapError(
				parley.CodeUnavailable,
				err,
				"the server's answer is not the JSON that was expected; is it Parley at "+c.base+"?",
			)
		}
		return nil
	})
}

// sendOnly sends a request whose answer has nothing to read.
func (c *Client) sendOnly(ctx context.Context, r request) error {
	return c.perform(ctx, &r, func(_ context.Context, response *http.Response) error {
		return response.Body.Close()
	})
}

// download sends a request and returns the answer's bytes as they come.
func (c *Client) download(ctx context.Context, r request) (io.ReadCloser, error) {
	r.lasting = true
	var body io.ReadCloser
	err := c.perform(ctx, &r, func(_ context.Context, response *http.Response) error {
		body = response.Body
		return nil
	})
	return body, err
}

// whole reads an answer's body.
func whole(ctx context.Context, response *http.Response) ([]byte, error) {
	defer response.Body.Close() //nolint:errcheck // the body was read
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	switch {
	case err == nil:
		return raw, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, refusal{
		error:     parley.WrapError(parley.CodeUnavailable, err, "the server's answer broke off"),
		transient: true,
	}
}
