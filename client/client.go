// Package client talks to a Parley server over its HTTP API. The command line uses it, and any Go
// program may. It keeps no state except a connection pool: the server's record is authoritative,
// and every stream can be resumed from it.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

// DefaultURL is where a server listens when nobody says otherwise.
const DefaultURL = "http://127.0.0.1:7878"

const (
	maxErrorBytes  = 64 << 10
	maxAnswerBytes = 64 << 20
	answerDeadline = 60 * time.Second // for answers that are not streams
)

// Options say where the server is and who asks.
type Options struct {
	URL        string       // "" means DefaultURL
	Key        string       // an API key, or the content of the server's token file
	Workspace  string       // which workspace the machine's own user means; keys have theirs
	HTTPClient *http.Client // nil means one of its own
}

// Client is safe for concurrent use.
type Client struct {
	base      string
	key       string
	workspace string
	http      *http.Client
}

// New makes a client. CodeInvalid for an unreadable URL.
func New(options Options) (*Client, error) {
	base := strings.TrimRight(options.URL, "/")
	if base == "" {
		base = DefaultURL
	}
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, parley.InvalidField(
			"url",
			"%q is no server address: write http://host:port",
			parley.Clip(base, 128),
		)
	}
	httpClient := options.HTTPClient
	if httpClient == nil {
		httpClient = &http.Client{
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				MaxIdleConnsPerHost: 64,
				IdleConnTimeout:     time.Minute,
			},
		}
	}
	return &Client{base: base, key: options.Key, workspace: options.Workspace, http: httpClient}, nil
}

// URL is the server's address.
func (c *Client) URL() string { return c.base }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Page is one page of a list; Next is the cursor of the page behind it, "" at the end.
type Page[T any] struct {
	Data []T    `json:"data"`
	Next string `json:"next"`
}

// request sends one request and hands back an answer of the 2xx family.
func (c *Client) request(
	ctx context.Context,
	method, path string,
	query url.Values,
	body []byte,
	header http.Header,
) (*http.Response, error) {
	if body != nil {
		if header = header.Clone(); header == nil {
			header = http.Header{}
		}
		header.Set("Content-Type", "application/json")
	}
	return c.stream(ctx, method, path, query, bytes.NewReader(body), header)
}

// stream is request with a body that is read as it is sent; its media type is in
// header.
func (c *Client) stream(
	ctx context.Context,
	method, path string,
	query url.Values,
	body io.Reader,
	header http.Header,
) (*http.Response, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "the request cannot be made")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.workspace != "" {
		request.Header.Set("Parley-Workspace", c.workspace)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, parley.WrapError(parley.CodeUnavailable, errors.Unwrap(err),
			"no Parley server answers at "+c.base+"; start one with: parley serve")
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close() //nolint:errcheck // nothing is lost with a body that was read or is of no use
		return nil, problem(response)
	}
	return response, nil
}

// problem reads an RFC 9457 body back into the error that the server had.
func problem(response *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // a cut body still has a status
	var body struct {
		Code   parley.Code `json:"code"`
		Title  string      `json:"title"`
		Detail string      `json:"detail"`
		State  string      `json:"state"`
		End    *int        `json:"end"`
		Errors []struct {
			Field   string `json:"field"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(raw, &body) != nil || body.Code == "" {
		return parley.Errorf(parley.CodeUnavailable, "the server answered %s", response.Status)
	}
	failure := parley.Errorf(body.Code, "%s", body.Detail)
	failure.State, failure.End = body.State, body.End
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
	return failure
}

// call sends input as JSON (nil: no body) and decodes the answer into output
// (nil: the answer has no body).
func call[In, Out any](
	ctx context.Context,
	c *Client,
	method, path string,
	query url.Values,
	input *In,
	header http.Header,
) (Out, error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		answerDeadline,
		parley.Errorf(parley.CodeUnavailable, "the server at %s did not answer in %s", c.base, answerDeadline),
	)
	defer cancel()
	return exchange[In, Out](ctx, c, method, path, query, input, header)
}

// lasting is call for a POST whose answer waits for a model: its time is ctx's.
func lasting[In, Out any](ctx context.Context, c *Client, path string, input *In) (Out, error) {
	return exchange[In, Out](ctx, c, http.MethodPost, path, nil, input, nil)
}

func exchange[In, Out any](
	ctx context.Context,
	c *Client,
	method, path string,
	query url.Values,
	input *In,
	header http.Header,
) (Out, error) {
	var out Out
	var body []byte
	if input != nil {
		var err error
		if body, err = json.Marshal(input); err != nil {
			return out, parley.WrapError(parley.CodeInvalid, err, "the request cannot be encoded")
		}
	}
	response, err := c.request(ctx, method, path, query, body, header)
	if err != nil {
		return out, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return out, parley.WrapError(parley.CodeUnavailable, err, "the server's answer broke off")
	}
	if len(raw) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the server's answer is no JSON; is it Parley at "+c.base+"?",
		)
	}
	return out, nil
}

type none = struct{}

func read[Out any](ctx context.Context, c *Client, path string, query url.Values) (Out, error) {
	return call[none, Out](ctx, c, http.MethodGet, path, query, nil, nil)
}

// Ready reports whether the server answers and is ready for requests.
func (c *Client) Ready(ctx context.Context) error {
	response, err := c.request(ctx, http.MethodGet, "/readyz", nil, nil, nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Principal is who the server takes the caller for.
func (c *Client) Principal(ctx context.Context) (parley.Principal, error) {
	return read[parley.Principal](ctx, c, "/v1/principal", nil)
}

// Models lists the known models of the configured providers.
func (c *Client) Models(ctx context.Context) (Page[model.Info], error) {
	return read[Page[model.Info]](ctx, c, "/v1/models", nil)
}

// ToolInfo is a tool of the server.
type ToolInfo struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Parameters  json.RawMessage        `json:"parameters"` // JSON Schema
	Annotations parley.ToolAnnotations `json:"annotations"`
	Source      string                 `json:"source"` // builtin, http, mcp/NAME
}

// Tools lists what agents may name.
func (c *Client) Tools(ctx context.Context) (Page[ToolInfo], error) {
	return read[Page[ToolInfo]](ctx, c, "/v1/tools", nil)
}
