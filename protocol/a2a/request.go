package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"example.org/parley"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// The bounds of a request.
const (
	maxID    = 128 // bytes of a request's id
	maxParts = parley.MaxParts
	maxModes = 64 // media types that a client accepts
)

// message is a request of JSON-RPC.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// params are what requests may say; each method reads some of it.
type params struct {
	Tenant          string        `json:"tenant"` // the agent, in requests to the server
	Name            string        `json:"id"`     // of the task, or of a configuration
	Message         *said         `json:"message"`
	Configuration   configuration `json:"configuration"`
	Metadata        metadata      `json:"metadata"`
	ContextID       string        `json:"contextId"`
	Status          taskState     `json:"status"`
	StatusAfter     string        `json:"statusTimestampAfter"`
	PageSize        *int          `json:"pageSize"`
	PageToken       string        `json:"pageToken"`
	HistoryLength   *int          `json:"historyLength"`
	IncludeArtifact bool          `json:"includeArtifacts"`
	pushParams
}

// configuration is how a message is to be answered.
type configuration struct {
	Modes         []string    `json:"acceptedOutputModes"`
	HistoryLength *int        `json:"historyLength"`
	Immediately   bool        `json:"returnImmediately"`
	Push          *pushConfig `json:"taskPushNotificationConfig"`
	GoPush        *pushConfig `json:"pushNotificationConfig"` // as a2a-go 2.0.0 has it
}

// metadata is Parley's own.
type metadata struct {
	Model parley.ModelID `json:"model"`
}

// said is a message: a client's, or the agent's about its status.
type said struct {
	ID        string          `json:"messageId"`
	ContextID string          `json:"contextId,omitempty"`
	TaskID    string          `json:"taskId,omitempty"`
	Role      string          `json:"role"`
	Raw       json.RawMessage `json:"parts"`
}

// The roles of messages.
const (
	roleUser  = "ROLE_USER"
	roleAgent = "ROLE_AGENT"
)

// part is a part of a message or an artifact. It has one of the first four members.
type part struct {
	Text      *string         `json:"text,omitempty"`
	Raw       *string         `json:"raw,omitempty"` // base64
	URL       *string         `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

func textPart(text string) part { return part{Text: &text} }

// parts reads the message's parts.
func (m *said) parts() ([]part, error) {
	var raw []json.RawMessage // counted first: a part takes far more than its text
	if json.Unmarshal(m.Raw, &raw) != nil || len(raw) == 0 {
		return nil, invalid("message.parts must be a list of at least one part")
	}
	if len(raw) > maxParts {
		return nil, invalid("message.parts has too many parts")
	}
	parts := make([]part, len(raw))
	for i := range raw {
		p := &parts[i]
		if json.Unmarshal(raw[i], p) != nil {
			return nil, invalid("message.parts holds one that cannot be read")
		}
		n := 0
		for _, has := range []bool{p.Text != nil, p.Raw != nil, p.URL != nil, p.Data != nil} {
			if has {
				n++
			}
		}
		if n != 1 {
			return nil, invalid("message.parts: each needs one of text, raw, url and data")
		}
	}
	return parts, nil
}

// request is a message with what its method needs.
type request struct {
	x     *protocol.Exchange
	agent string        // of the path, or the tenant; "" for none
	known *parley.Agent // the agent, once it was read
	rpc   message
	params

	held []func()
}

// hold counts memory that the request's answer takes, until free.
func (r *request) hold(bytes int64) error {
	free, err := r.x.Hold(bytes)
	if err == nil {
		r.held = append(r.held, free)
	}
	return err
}

// free gives back what was held.
func (r *request) free() {
	for _, free := range r.held {
		free()
	}
}

// decode reads a message.
func decode(body []byte) (m message, err error) {
	if err = parley.CheckJSON(body); err == nil && !json.Valid(body) {
		err = errors.New("its syntax is wrong")
	}
	if err != nil {
		return m, &fault{codeParse, "The body is not JSON that can be stored: " + parley.Clip(err.Error(), 200)}
	}
	wrong := &fault{code: codeInvalidRequest}
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		wrong.message = "Batches are not served. Send each message by itself."
	case json.Unmarshal(body, &m) != nil || m.Version != "2.0" || m.Method == "":
		wrong.message = `The body is not a request of JSON-RPC: it needs "jsonrpc":"2.0", an id and a method.`
	case !isID(m.ID):
		wrong.message = "id must be a string of at most 128 bytes, or an integer"
	default:
		return m, nil
	}
	return message{}, wrong
}

// isID reports whether raw is an id of a request: a string or an integer.
func isID(raw json.RawMessage) bool {
	if len(raw) == 0 || len(raw) > maxID {
		return false
	}
	return raw[0] == '"' || (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && !bytes.ContainsAny(raw, ".eE")
}

// asked reads a request with the agent of its address.
func (a *api) asked(x *protocol.Exchange) (*request, error) {
	name := x.R.PathValue("agent")
	if name == "" {
		return read(x)
	}
	agent, err := a.engine.Agent(x.R.Context(), x.Principal, name)
	if err != nil {
		return nil, err // the address does not exist
	}
	r, err := read(x)
	if r != nil {
		r.known = &agent
	}
	return r, err
}

// read reads a request with its headers.
func read(x *protocol.Exchange) (*request, error) {
	header := x.R.Header
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind != "application/json" && kind != "application/a2a+json" {
		return nil, &fault{codeInvalidRequest, "Send the message as application/json."}
	}
	r := &request{x: x, agent: x.R.PathValue("agent")}
	if r.rpc, err = decode(x.Body); err != nil {
		return r, err
	}
	switch given := header.Get(VersionHeader); {
	case given == "":
		return r, &fault{codeVersion, "The header " + VersionHeader + " is missing, which means version 0.3. " +
			"This server speaks " + version + "."}
	case given != version && !strings.HasPrefix(given, version+"."):
		return r, &fault{codeVersion, "Version " + parley.Clip(given, 32) + " is not served. This server speaks " +
			version + "."}
	}
	if r.rpc.Params != nil {
		if err := json.Unmarshal(r.rpc.Params, &r.params); err != nil {
			return r, invalid("params: " + wrongType(err))
		}
	}
	return r, r.check()
}

// check refuses what no method takes.
func (r *request) check() error {
	switch n, length := r.PageSize, r.HistoryLength; {
	case n != nil && (*n < 1 || *n > maxTasks):
		return invalid("pageSize must be from 1 to 100")
	case length != nil && *length < 0,
		r.Configuration.HistoryLength != nil && *r.Configuration.HistoryLength < 0:
		return invalid("historyLength must not be negative")
	case len(r.Configuration.Modes) > maxModes:
		return invalid("acceptedOutputModes has too many media types")
	case r.agent != "" && r.Tenant != "" && r.Tenant != r.agent:
		return invalid("tenant is not the agent of this address; leave it out")
	}
	if r.agent == "" {
		r.agent = r.Tenant
	}
	return nil
}

// wrongType says which member cannot be read.
func wrongType(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return parley.Clip(wrong.Field, 64) + " has the wrong JSON type"
	}
	return "must be an object"
}

// streams reports whether the request is answered with a stream, errors included: some clients read nothing else.
func (r *request) streams() bool {
	return r != nil && (r.rpc.Method == "SendStreamingMessage" || r.rpc.Method == "SubscribeToTask")
}

// serve answers a request.
func (a *api) serve(x *protocol.Exchange) error {
	var r *request
	var err error
	stream.Aside(func() { r, err = a.asked(x) })
	var wrong *fault
	if err != nil && !errors.As(err, &wrong) {
		return err
	}
	if wrong != nil {
		x.Call.Unaudited()
		r.refuse(x, wrong)
		return nil
	}
	defer r.free()
	result, err := a.result(x.R.Context(), r)
	switch {
	case errors.As(err, &wrong):
	case err != nil:
		problem := x.Problem(err)
		if !aboutTheTask(problem.Status) {
			return err
		}
		wrong = faultOf(problem)
	case result == nil: // it is written already
		return nil
	default:
		encoded, err := parley.EncodeJSON(result)
		if err == nil {
			answerJSON(x, append(append(append(response(r.rpc.ID), `"result":`...), encoded...), '}'))
		}
		return err
	}
	x.Call.Unaudited()
	r.refuse(x, wrong)
	return nil
}

// aboutTheTask reports whether a status concerns what was asked for, rather than the key or the server: then the answer
// of HTTP is 200, and only the one of JSON-RPC is an error.
func aboutTheTask(status int) bool {
	return status < http.StatusInternalServerError && status != http.StatusTooManyRequests &&
		status != http.StatusUnauthorized && status != http.StatusForbidden
}

// result does what a request asks for. A nil result is one that was written already.
func (a *api) result(ctx context.Context, r *request) (any, error) {
	switch r.rpc.Method {
	case "SendMessage", "SendStreamingMessage":
		return a.send(r)
	case "SubscribeToTask":
		return a.subscribe(r)
	case "GetTask":
		return a.task(ctx, r)
	case "ListTasks":
		return a.list(ctx, r)
	case "CancelTask":
		return a.cancel(ctx, r)
	case "CreateTaskPushNotificationConfig":
		return a.createPush(ctx, r)
	case "GetTaskPushNotificationConfig":
		return a.getPush(ctx, r)
	case "ListTaskPushNotificationConfigs":
		return a.listPushes(ctx, r)
	case "DeleteTaskPushNotificationConfig":
		return a.deletePush(ctx, r)
	case "GetExtendedAgentCard":
		return a.card(ctx, r.x, r.agent)
	}
	return nil, &fault{codeMethodNotFound, "The method " + parley.Clip(r.rpc.Method, 64) + " is not served."}
}

// refuse answers with an error. r may be nil.
func (r *request) refuse(x *protocol.Exchange, wrong *fault) {
	if !r.streams() {
		var id []byte
		if r != nil {
			id = r.rpc.ID
		}
		answerJSON(x, wrong.encode(id))
		return
	}
	frames := protocol.NewFrames(x.W)
	frames.Buffer = appendFrame(frames.Buffer, wrong.encode(r.rpc.ID))
	_ = frames.Flush() // the client may be gone
}

// appendFrame appends a message as an event of a stream.
func appendFrame(to, body []byte) []byte {
	return append(append(append(to, "data: "...), body...), "\n\n"...)
}

func answerJSON(x *protocol.Exchange, body []byte) {
	x.W.Header().Set("Content-Type", "application/json")
	_, _ = x.W.Write(body) // the client may be gone
}
