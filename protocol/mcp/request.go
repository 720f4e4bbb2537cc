package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/protocol"
)

// The versions that change how requests are read. Those that are known are the SDK's.
const (
	unnamed   = "2025-03-26" // of a request without a version
	lastOld   = "2025-11-25" // the newest that begins with initialize
	stateless = "2026-07-28" // the first whose requests stand alone
)

// The bounds of a request.
const (
	maxID    = 128  // bytes of a request's id, and of a token of progress
	maxURI   = 2048 // bytes of a resource's address
	maxState = 64   // bytes of a call's state
)

// message is a request, a notification, or an answer to a question.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// isNotification reports whether nobody waits for an answer.
func (m *message) isNotification() bool { return m.ID == nil && m.Method != "" }

// isAnswer reports whether it answers a question of the server.
func (m *message) isAnswer() bool { return m.Method == "" }

// params are what requests may say; each method reads some of it.
type params struct {
	Name      string                     `json:"name"`
	Arguments json.RawMessage            `json:"arguments"`
	URI       string                     `json:"uri"`
	Cursor    string                     `json:"cursor"`
	Version   string                     `json:"protocolVersion"`
	Can       *capabilities              `json:"capabilities"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
	State     string                     `json:"requestState"`
	Meta      struct {
		Progress json.RawMessage `json:"progressToken"`
		Version  string          `json:"io.modelcontextprotocol/protocolVersion"`
		Can      *capabilities   `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// capabilities are what a client can.
type capabilities struct {
	Elicitation *struct {
		Form json.RawMessage `json:"form"`
		URL  json.RawMessage `json:"url"`
	} `json:"elicitation"`
}

// elicits reports whether the client shows forms; one that names no mode does.
func (c *capabilities) elicits() bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// request is a message with what its method needs.
type request struct {
	x *protocol.Exchange
	message
	params

	version string // of the protocol
	elicits bool   // the client shows forms
	held    []func()
}

// hold counts memory that the request's answer takes, until free.
func (r *request) hold(bytes int64) error {
	free, err := r.x.Hold(bytes)
	if err == nil {
		r.held = append(r.held, free)
	}
	return err
}

// forget drops what the request brought, once it is in the record: its answer may take long.
func (r *request) forget() { r.Params, r.Arguments, r.Responses = nil, nil, nil }

// free gives back what was held.
func (r *request) free() {
	for _, free := range r.held {
		free()
	}
}

// standsAlone reports whether the request is of a version without initialize.
func (r *request) standsAlone() bool { return r.version >= stateless }

// decode reads a message.
func decode(body []byte) (message, error) {
	var m message
	err := parley.CheckJSON(body)
	if err == nil && !json.Valid(body) {
		err = errors.New("its syntax is wrong")
	}
	if err != nil {
		return m, &fault{status: http.StatusBadRequest, code: codeParse,
			message: "The body is not JSON that can be stored: " + parley.Clip(err.Error(), 200)}
	}
	wrong := &fault{status: http.StatusBadRequest, code: codeInvalidRequest}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		wrong.message = "Batches are not served. Send each message by itself."
		return m, wrong
	}
	if json.Unmarshal(body, &m) != nil || m.Version != "2.0" {
		wrong.message = `The body is not a message of JSON-RPC: it needs "jsonrpc":"2.0" and a method.`
		return m, wrong
	}
	if m.ID != nil && !isID(m.ID) {
		m.ID, wrong.message = nil, "id must be a string of at most 128 bytes, or an integer"
		return m, wrong
	}
	if m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
		wrong.message = "method is missing"
		return m, wrong
	}
	return m, nil
}

// isID reports whether raw is an id of a message: a string or an integer.
func isID(raw json.RawMessage) bool {
	if len(raw) == 0 || len(raw) > maxID {
		return false
	}
	var number json.Number
	switch {
	case raw[0] == '"':
		return true
	case raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		return false
	}
	return json.Unmarshal(raw, &number) == nil && !strings.ContainsAny(number.String(), ".eE")
}

// read reads a request: its message, its parameters, and its version as its headers say it.
func read(x *protocol.Exchange) (*request, error) {
	header := x.R.Header
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &fault{status: http.StatusUnsupportedMediaType, code: codeInvalidRequest,
			message: "Send the message as application/json."}
	}
	r := &request{x: x}
	var err error
	if r.message, err = decode(x.Body); err != nil {
		return r, err
	}
	r.version = header.Get(VersionHeader)
	known := sdk.SupportedProtocolVersions()
	if r.Params != nil {
		if err := json.Unmarshal(r.Params, &r.params); err != nil {
			return r, invalid("params: " + wrongType(err))
		}
	}
	if r.version != "" && !slices.Contains(known, r.version) {
		return r, unsupported(known, r.version)
	}
	if r.version < stateless && r.Meta.Version == "" {
		if r.version == "" {
			r.version = unnamed
		}
		r.elicits = strings.HasSuffix(header.Get(SessionHeader), canElicit)
		return r, nil
	}
	return r, r.checkAlone(known)
}

// checkAlone checks what a request of a version without initialize must say, in its headers and in its body.
func (r *request) checkAlone(known []string) error {
	header := r.x.R.Header
	mismatch := func(message string) error {
		return &fault{status: http.StatusBadRequest, code: codeHeaderMismatch, message: message}
	}
	switch {
	case r.isAnswer():
		return &fault{status: http.StatusBadRequest, code: codeInvalidRequest,
			message: "This version's servers ask nothing: send inputResponses with the call."}
	case r.version == "":
		return mismatch("The header " + VersionHeader + " is missing; its value is the version in _meta.")
	case header.Get(MethodHeader) != r.Method:
		return mismatch("The header " + MethodHeader + " must be the method of the body.")
	case r.isNotification():
		return nil
	case r.Meta.Version == "":
		return invalid("_meta has no io.modelcontextprotocol/protocolVersion")
	case r.Meta.Version != r.version:
		return mismatch("The header " + VersionHeader + " must be the version in _meta.")
	case !slices.Contains(known, r.Meta.Version):
		return unsupported(known, r.Meta.Version)
	case r.Meta.Can == nil:
		return invalid("_meta has no io.modelcontextprotocol/clientCapabilities")
	}
	name := r.Name
	if r.Method == "resources/read" {
		name = r.URI
	}
	if (r.Method == "tools/call" || r.Method == "resources/read") && plainHeader(header.Get(NameHeader)) != name {
		return mismatch("The header " + NameHeader + " must be the name or the uri in the body.")
	}
	r.elicits = r.Meta.Can.elicits()
	return nil
}

// plainHeader returns the value of a header, which is in base64 if it has other than printable characters.
func plainHeader(value string) string {
	const begins, ends = "=?base64?", "?="
	inner, begun := strings.CutPrefix(value, begins)
	inner, ended := strings.CutSuffix(inner, ends)
	if !begun || !ended {
		return value
	}
	raw, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return value
	}
	return string(raw)
}

func invalid(message string) error {
	return &fault{status: http.StatusBadRequest, code: codeInvalidParams, message: message}
}

// unsupported refuses a version and names those that are known.
func unsupported(known []string, version string) error {
	version = parley.Clip(version, 32)
	data, err := parley.EncodeJSON(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{known, version})
	if err != nil {
		return err
	}
	return &fault{status: http.StatusBadRequest, code: codeVersion, data: data,
		message: "The version " + version + " is not served. Use one of " + strings.Join(known, ", ") + "."}
}

// wrongType says which member cannot be read.
func wrongType(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return parley.Clip(wrong.Field, 64) + " has the wrong JSON type"
	}
	return "must be an object"
}
