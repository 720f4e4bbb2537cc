package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
)

// apiVersion is the API's version, which begins its paths. The program has its own.
const apiVersion = "1"

// OpenAPI returns the API's description by this code, as indented JSON. make generate writes it to openapi.json;
// Document is what was written.
func OpenAPI() ([]byte, error) {
	document, _ := describe()
	if err := shareParameters(document); err != nil {
		return nil, err
	}
	encoded, err := json.MarshalIndent(document, "", " ")
	return append(encoded, '\n'), err
}

// describe makes the document and the registry of the types that it names.
func describe() (*huma.OpenAPI, *registry) {
	schemas := describedRegistry()
	document := newDocument(schemas)
	list := routes()
	for i := range list {
		for nth, path := range list[i].paths {
			document.AddOperation(schemas.operation(&list[i], path, nth))
		}
	}
	return document, schemas
}

// newDocument is the document without its routes.
func newDocument(schemas *registry) *huma.OpenAPI {
	problem := schemas.Schema(reflect.TypeFor[Problem](), true, "")
	responses := map[string]*huma.Response{}
	for _, f := range failures() {
		responses[f.name] = failureResponse(f, problem)
	}
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:   "Parley",
			Version: apiVersion,
			Description: "A durable home for agent conversations: agents, their sessions, every message and every " +
				"model call, and streams of the turns as they run.\n\nIds are UUIDv7, times RFC 3339 in UTC with " +
				"milliseconds, absent is null. Lists return {data, next}; pass next as cursor for the next page. " +
				"Errors are RFC 9457 documents with a code for programs. On loopback, while no key exists, no key is " +
				"needed.",
		},
		Servers: []*huma.Server{{URL: "/", Description: "This server."}},
		Paths:   map[string]*huma.PathItem{},
		Tags:    tags(),
		Components: &huma.Components{
			Schemas: schemas, Responses: responses,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"key": {
					Type:   "http",
					Scheme: "bearer",
					Description: "A key of a principal, or the machine's local token (then the header " +
						"Parley-Workspace chooses the workspace).",
				},
			},
		},
		Security: []map[string][]string{{"key": {}}, {}},
	}
}

// failure is an error answer that routes refer to.
type failure struct {
	name    string
	code    parley.Code // of the example
	about   string
	example string // detail
	field   string
}

// failures are the error answers of the document.
func failures() []failure {
	return []failure{
		{
			"Unauthenticated",
			parley.CodeUnauthenticated,
			"The key is missing or unknown.",
			"This server asks for a key: send it in the header Authorization: Bearer.",
			"",
		},
		{
			"Forbidden",
			parley.CodeForbidden,
			"The principal's role may not do this, or the request comes from another site.",
			"A reader may not use sessions.post. Ask an admin of the workspace for another role.",
			"",
		},
		{
			"NotFound",
			parley.CodeNotFound,
			"The workspace has nothing of this kind with this id.",
			"The session does not exist.",
			"",
		},
		{
			"Conflict",
			parley.CodeConflict,
			"The present state does not allow this: conflict, archived, busy, nothing_to_cancel or key_reused.",
			"The session is archived; reopen it with PATCH and archived false.",
			"",
		},
		{
			"Changed",
			parley.CodeChanged,
			"If-Match does not name the present ETag.",
			"Somebody changed this since you read it. Read it again and repeat the change.",
			"",
		},
		{"TooLarge", parley.CodeTooLarge, "A bound was exceeded.", "The body is larger than 1048576 bytes.", ""},
		{
			"Unsupported",
			parley.CodeUnsupported,
			"The body is not JSON.",
			"Send JSON with the header Content-Type: application/json.",
			"",
		},
		{
			"Invalid",
			parley.CodeInvalid,
			"The input breaks a rule; errors names the fields.",
			"limit: must be an integer from 1 to 1000",
			"limit",
		},
		{
			"RateLimited",
			parley.CodeRateLimited,
			"Too many requests, turns or streams; Retry-After says when to try again.",
			"This key may send 600 requests a minute; try again in a moment.",
			"",
		},
		{
			"Internal",
			parley.CodeInternal,
			"Something went wrong inside Parley.",
			"Something went wrong inside Parley. The server's log has the details under this request's id.",
			"",
		},
		{
			"Unavailable",
			parley.CodeUnavailable,
			"The server is shutting down, or the store does not answer.",
			"The server is shutting down; try again in a moment.",
			"",
		},
		{
			"StorageFull",
			parley.CodeStorageFull,
			"The disk is full; reads still work.",
			"The disk is full; free some room and try again.",
			"",
		},
	}
}

func failureResponse(f failure, problem *huma.Schema) *huma.Response {
	err := parley.Errorf(f.code, "%s", f.example)
	err.Field = f.field
	id, _ := parley.ParseID(requestIDExample) // a constant
	shown := problemOf(err, id)
	shown.Detail = f.example
	headers := map[string]*huma.Header{requestIDHeader: idHeader()}
	if comesAgain(shown.Status) {
		headers["Retry-After"] = &huma.Header{
			Description: "Seconds to wait before the next try, at least.",
			Schema:      &huma.Schema{Type: huma.TypeInteger},
		}
	}
	return &huma.Response{
		Description: f.about,
		Headers:     headers,
		Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: problem, Example: json.RawMessage(appendProblem(nil, shown))},
		},
	}
}

func idHeader() *huma.Header {
	return &huma.Header{
		Description: "The request's id, in the server's log too.",
		Schema:      &huma.Schema{Type: huma.TypeString, Format: "uuid"},
	}
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// operation describes a route at one of its paths.
func (r *registry) operation(of *route, path string, nth int) *huma.Operation {
	operation := &huma.Operation{
		Method:      of.method,
		Path:        path,
		OperationID: of.name,
		Summary:     of.says,
		Description: of.about,
		Tags:        []string{of.tag},
		Responses:   map[string]*huma.Response{},
	}
	if of.verb != "" {
		operation.Extensions = map[string]any{"x-verb": of.verb} // docs/roles.md says which roles have it
	}
	if nth > 0 { // the same route under its agent
		operation.OperationID += "OfAgent"
		operation.Summary += " of an agent"
		operation.Extensions["x-alias-of"] = of.name // generators of clients leave it out
		if strings.Contains(path, "{session}") {
			operation.Description += " 404 if the session is not this agent's."
		}
	}
	if of.hasStream() {
		operation.Description += " At " + of.stream().paths[nth] + " the answer is a stream."
	}
	if of.mayWait() {
		operation.Description += " At " + of.wait().paths[nth] + " it is the turn's answer, when the turn ends."
	}
	if of.open {
		operation.Security = []map[string][]string{}
	}
	for _, match := range pathVariable.FindAllStringSubmatch(path, -1) {
		operation.Parameters = append(operation.Parameters, pathParameter(match[1]))
	}
	for _, p := range of.query {
		if p.name == waitName && of.mayWait() {
			continue // it has its own path
		}
		if nth > 0 && (p.name == "agent" || p.name == "agent_id") {
			continue
		}
		operation.Parameters = append(operation.Parameters, documented(p, "query"))
	}
	for _, p := range of.headers {
		if p.name == "Accept" { // OpenAPI ignores it as a parameter: the answers' media types say it
			continue
		}
		operation.Parameters = append(operation.Parameters, documented(p, "header"))
	}
	if of.input != nil {
		operation.RequestBody = &huma.RequestBody{
			Required:    of.name != "cancelTurn",
			Description: inputAbout(of),
			Content: map[string]*huma.MediaType{
				"application/json": {
					Schema:  r.Schema(of.input.of, true, ""),
					Example: json.RawMessage(of.input.example),
				},
			},
		}
	}
	if of.uploads {
		operation.RequestBody = &huma.RequestBody{
			Required:    true,
			Description: "The file, at most 64 MiB.",
			Content: map[string]*huma.MediaType{
				"multipart/form-data": {
					Schema: &huma.Schema{
						Type:       huma.TypeObject,
						Properties: map[string]*huma.Schema{"file": binary()},
						Required:   []string{"file"},
					},
				},
				unknownMedia: {Schema: binary()},
			},
		}
	}
	for _, answer := range of.answers {
		if answer.media == eventStream && of.hasStream() {
			continue // it has its own path
		}
		response := r.response(answer)
		if other := operation.Responses[strconv.Itoa(answer.status)]; other != nil { // in another media type
			maps.Copy(response.Content, other.Content)
			response.Description = other.Description + " " + response.Description
		}
		operation.Responses[strconv.Itoa(answer.status)] = response
	}
	for _, f := range failuresOf(of, path) {
		status, _ := statusOf(f.code)
		operation.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + f.name}
	}
	return operation
}

// inputAbout says what a body may be.
func inputAbout(r *route) string {
	if r.method != http.MethodPatch {
		return "JSON, at most 1 MiB."
	}
	return "JSON, at most 1 MiB, as application/json or " + mergePatch + ": fields that are left out keep their " +
		"values, null clears one. An object in a field, such as metadata, replaces the former one whole."
}

// unknownMedia is the media type of bytes of any kind.
const unknownMedia = "application/octet-stream"

func binary() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: "binary"} }

// failuresOf lists the errors that a route can answer with.
func failuresOf(r *route, path string) []failure {
	codes := append([]parley.Code{parley.CodeForbidden, parley.CodeInternal, parley.CodeInvalid}, r.fails...)
	if !r.open {
		codes = append(codes, parley.CodeUnauthenticated, parley.CodeUnavailable)
	}
	if !r.open || r.signs {
		codes = append(codes, parley.CodeRateLimited) // also where keys and codes may be guessed
	}
	if strings.Contains(path, "{") {
		codes = append(codes, parley.CodeNotFound)
	}
	if r.method != http.MethodGet {
		codes = append(codes, parley.CodeStorageFull)
	}
	if r.uploads {
		codes = append(codes, parley.CodeTooLarge, parley.CodeUnsupported)
	}
	if r.input != nil {
		codes = append(codes, parley.CodeTooLarge, parley.CodeUnsupported)
		if slices.Contains([]string{"createSession", "ensureSession", "setClientSession"}, r.action()) {
			codes = append(codes, parley.CodeNotFound) // the body refers to other things
		}
	}
	var out []failure
	for _, f := range failures() {
		if slices.Contains(codes, f.code) {
			out = append(out, f)
		}
	}
	return out
}

func (r *registry) response(answer answer) *huma.Response {
	response := &huma.Response{Description: answer.about, Headers: map[string]*huma.Header{requestIDHeader: idHeader()}}
	for _, header := range answer.headers {
		s := header.schema
		response.Headers[header.name] = &huma.Header{Description: header.about, Schema: &s}
	}
	schema := answer.of
	if answer.goType != nil {
		schema = r.Schema(answer.goType, true, "")
	}
	if schema == nil {
		return response
	}
	media := answer.media
	content := &huma.MediaType{Schema: schema}
	switch {
	case media == "", media == eventStream:
		content.Example = json.RawMessage(answer.example)
	case answer.example != "":
		content.Example = answer.example
	}
	if media == "" {
		media = "application/json"
	}
	response.Content = map[string]*huma.MediaType{media: content}
	return response
}

// pathAbout describes a variable of paths.
func pathAbout(name string) string {
	switch name {
	case "agent", "lead", "definition":
		return "The " + name + "'s id or slug."
	case "client":
		return "The name that a window or tab has given itself."
	case "tool_server":
		return "The server's name in parley.yaml."
	case "version":
		return "The version's number, from 1."
	}
	return "The " + name + "'s id."
}

func pathParameter(name string) *huma.Param {
	p := &huma.Param{
		Name:        name,
		In:          "path",
		Required:    true,
		Description: pathAbout(name),
		Schema:      &huma.Schema{Type: huma.TypeString},
	}
	switch name {
	case "agent", "lead", "definition", "client", "tool_server":
	case "version":
		s := integer(1, 1<<30)
		p.Schema = &s
	default:
		p.Schema.Format = "uuid"
	}
	return p
}

func documented(p parameter, in string) *huma.Param {
	s := p.schema
	return &huma.Param{Name: p.name, In: in, Description: p.about, Schema: &s}
}
