package httptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/internal/netguard"
	"example.org/parley/internal/schema"
	"example.org/parley/tool"
)

// shownBytes is how much of a failed answer the model sees.
const shownBytes = 2048

// endpoint is one HTTP tool.
type endpoint struct {
	definition  parley.ToolDefinition
	annotations parley.ToolAnnotations
	schema      schema.Schema
	method      string
	url         template
	header      http.Header
	secrets     http.Header
	client      *http.Client
	timeout     time.Duration
	maxBytes    int
}

var _ tool.Tool = (*endpoint)(nil)

func (e *endpoint) Definition() parley.ToolDefinition   { return e.definition }
func (e *endpoint) Annotations() parley.ToolAnnotations { return e.annotations }
func (e *endpoint) Source() string                      { return sourceName }

// answer is the result of a successful call.
type answer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"` // JSON unchanged, other text as a string, null for none
}

// Call implements tool.Tool. Arguments that the address does not name go into the query of a GET, HEAD or DELETE, and
// otherwise into a JSON body. A status outside 2xx is an error with the server's text; an answer that is not text
// becomes a file. The endpoint, but no host that it redirects to, learns which call it serves, so that it can recognise
// a repetition.
func (e *endpoint) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	request, err := e.request(ctx, call.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, stop := context.WithTimeout(ctx, e.timeout)
	defer stop()
	response, err := e.client.Do(request.WithContext(netguard.WithHeader(ctx, call.Headers())))
	if err != nil {
		return tool.Result{}, e.explain(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // read as far as wanted
	body, err := io.ReadAll(io.LimitReader(counted{response.Body, call}, int64(e.maxBytes)+1))
	var known *parley.Error
	switch {
	case errors.As(err, &known): // there is no room for it
		return tool.Result{}, err
	case err != nil:
		return tool.Result{}, e.explain(ctx, err)
	case len(body) > e.maxBytes:
		return tool.Result{}, parley.Errorf(
			parley.CodeTooLarge,
			"the answer is larger than the %d bytes that this tool may read",
			e.maxBytes,
		)
	}
	text := netguard.Redact(string(body), e.secrets)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return tool.Result{}, parley.Errorf(
			parley.CodeUnavailable,
			"the server answered %s: %s",
			response.Status,
			parley.Clip(strings.ToValidUTF8(text, "�"), shownBytes),
		)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		file := parley.Part{Type: parley.PartFile, Name: fileName(response.Request.URL)}
		return tool.Result{Pieces: []tool.Piece{{Part: file, Data: []byte(text)}}}, nil
	}
	return tool.JSON(json.Marshal(answer{
		Status: response.StatusCode,
		Body:   bodyOf(response.Header.Get("Content-Type"), text),
	}))
}

// counted is an answer that counts as it comes.
type counted struct {
	io.Reader
	call tool.Call
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if full := c.call.Holds(int64(n)); full != nil {
		return n, full
	}
	return n, err
}

// fileName is the last part of an address that looks like a file's name; "" else.
func fileName(address *url.URL) string {
	if name := path.Base(address.Path); strings.Contains(name, ".") && len(name) <= parley.MaxNameBytes {
		return name
	}
	return ""
}

// bodyOf returns the text of an answer's body as JSON.
func bodyOf(contentType, text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	media, _, _ := mime.ParseMediaType(contentType)
	if (media == "application/json" || strings.HasSuffix(media, "+json")) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return parley.AppendJSONString(nil, text)
}

// request makes the request of a call.
func (e *endpoint) request(ctx context.Context, raw json.RawMessage) (*http.Request, error) {
	var arguments map[string]json.RawMessage
	if json.Unmarshal(raw, &arguments) != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "the arguments are not a JSON object")
	}
	wrong, err := e.schema.Check(ctx, raw)
	if err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "Not run: %s", err)
	}
	if wrong != "" {
		return nil, parley.Errorf(parley.CodeInvalid, "the arguments do not fit the tool's schema: %s", wrong)
	}
	target, err := e.url.fill(arguments)
	if err != nil {
		return nil, err
	}
	for _, name := range e.url.names {
		delete(arguments, name)
	}
	var body io.Reader
	switch {
	case len(arguments) == 0:
	case e.method == http.MethodGet || e.method == http.MethodHead || e.method == http.MethodDelete:
		addQuery(target, arguments)
	default:
		encoded, err := json.Marshal(arguments)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(e.method, target.String(), body) //nolint:noctx // the caller adds the context
	if err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "the arguments do not make a valid request")
	}
	request.Header = e.header.Clone()
	request.Header.Set("User-Agent", "parley")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// addQuery adds arguments in the order of their names: a list repeats its name, anything else but a scalar is sent as
// JSON.
func addQuery(target *url.URL, arguments map[string]json.RawMessage) {
	query := target.RawQuery
	add := func(name, value string) {
		if query != "" {
			query += "&"
		}
		query += url.QueryEscape(name) + "=" + url.QueryEscape(value)
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		raw := arguments[name]
		var list []json.RawMessage
		if raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
			for _, element := range list {
				add(name, textOf(element))
			}
			continue
		}
		if string(raw) != "null" {
			add(name, textOf(raw))
		}
	}
	target.RawQuery = query
}

func textOf(raw json.RawMessage) string {
	text, err := scalar("", raw)
	if err != nil {
		return string(raw)
	}
	return text
}

// explain says what went wrong with a request, without its address, which may contain secrets of the operator.
func (e *endpoint) explain(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case errors.Is(err, netguard.ErrPrivate):
		return parley.Errorf(
			parley.CodeForbidden,
			"%s; the operator can allow it for this tool with allow_private",
			netguard.ErrPrivate,
		)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return parley.Errorf(parley.CodeUnavailable, "the server did not answer within %s", e.timeout)
	}
	return parley.WrapError(
		parley.CodeUnavailable,
		err,
		"the server could not be asked: "+parley.Clip(netguard.Redact(err.Error(), e.secrets), 256),
	)
}
