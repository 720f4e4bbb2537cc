// Package httptool turns HTTP endpoints into tools: each has a method, an address with arguments in
// it, and a JSON Schema of its parameters. It calls only the configured server (and hosts that it
// redirects to), reaches private networks only if the configuration allows it, and bounds how long
// it waits and how much it reads.
package httptool

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/netguard"
	"example.org/parley/internal/schema"
	"example.org/parley/tool"
)

const (
	// DefaultTimeout is an endpoint's default time to answer.
	DefaultTimeout = 30 * time.Second
	// LongestTimeout is the largest configurable timeout.
	LongestTimeout = 10 * time.Minute
	// DefaultMaxBytes bounds an answer; MostBytes bounds that setting.
	DefaultMaxBytes = 256 << 10
	MostBytes       = 1 << 20

	maxNameBytes = 64
	sourceName   = "http"
)

// Config describes one endpoint.
type Config struct {
	Name        string // used by agents
	Description string // shown to the model
	Method      string // "": GET
	URL         string // with arguments as {name}, in path and query
	Header      http.Header
	Secrets     http.Header     // headers with credentials: sent only to the URL's own host, and never shown
	Parameters  json.RawMessage // JSON Schema of the arguments, an object; nil: the URL's arguments, each a string
	Timeout     time.Duration   // 0: DefaultTimeout
	MaxBytes    int             // bound of an answer; 0: DefaultMaxBytes
	// AllowPrivate permits loopback and private networks.
	AllowPrivate bool
	// Annotations replace what the method implies about the tool's effects.
	Annotations parley.AnnotationsOverride
}

// Source is a fixed set of endpoints. It implements tool.Source.
type Source struct {
	tools []*endpoint // by name
}

var _ tool.Source = (*Source)(nil)

// New makes a Source; CodeInvalid names the tool and the invalid field.
func New(configs []Config) (*Source, error) {
	source := &Source{}
	for _, config := range configs {
		made, err := newEndpoint(config)
		if err != nil {
			return nil, parley.InvalidField("http_tools", "tool %q: %s", parley.Clip(config.Name, maxNameBytes), err)
		}
		source.tools = append(source.tools, made)
	}
	slices.SortFunc(
		source.tools,
		func(a, b *endpoint) int { return strings.Compare(a.definition.Name, b.definition.Name) },
	)
	for i := 1; i < len(source.tools); i++ {
		if name := source.tools[i].definition.Name; name == source.tools[i-1].definition.Name {
			return nil, parley.InvalidField("http_tools", "there are two tools named %q", name)
		}
	}
	return source, nil
}

// Tool finds a tool by its exact name.
func (s *Source) Tool(name string) (tool.Tool, bool) {
	for _, tool := range s.tools {
		if tool.definition.Name == name {
			return tool, true
		}
	}
	return nil, false
}

// Tools lists the tools by name.
func (s *Source) Tools() []tool.Tool {
	tools := make([]tool.Tool, len(s.tools))
	for i, tool := range s.tools {
		tools[i] = tool
	}
	return tools
}

// For implements tool.Source: every workspace has the same tools.
func (s *Source) For(parley.ID) tool.Source { return s }

// Expects returns false: endpoints are known from their configuration.
func (*Source) Expects(string) bool { return false }

// Await implements tool.Source.
func (*Source) Await(context.Context) {}

// Faults implements tool.Source: New refuses unusable endpoints.
func (*Source) Faults() []tool.Fault { return nil }

// Close closes unused connections.
func (s *Source) Close() {
	for _, tool := range s.tools {
		tool.client.CloseIdleConnections()
	}
}

func newEndpoint(config Config) (*endpoint, error) {
	e := &endpoint{
		definition: parley.ToolDefinition{Name: config.Name, Description: config.Description},
		method: strings.ToUpper(
			config.Method,
		),
		timeout:  config.Timeout,
		maxBytes: config.MaxBytes,
		secrets:  config.Secrets.Clone(),
	}
	if e.method == "" {
		e.method = http.MethodGet
	}
	if e.timeout == 0 {
		e.timeout = DefaultTimeout
	}
	if e.maxBytes == 0 {
		e.maxBytes = DefaultMaxBytes
	}
	switch {
	case !isName(config.Name):
		return nil, parley.InvalidField("name", "use 1 to %d letters, digits, _ and -", maxNameBytes)
	case strings.TrimSpace(config.Description) == "":
		return nil, parley.InvalidField("description", "is empty; tell the model what the tool is for")
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete}, e.method):
		return nil, parley.InvalidField(
			"method",
			"%q is not one of GET, HEAD, POST, PUT, PATCH, DELETE",
			parley.Clip(config.Method, 16),
		)
	case e.timeout < 0 || e.timeout > LongestTimeout:
		return nil, parley.InvalidField("timeout", "must lie between 1ms and %s", LongestTimeout)
	case e.maxBytes < 0 || e.maxBytes > MostBytes:
		return nil, parley.InvalidField("max_bytes", "must lie between 1 and %d", MostBytes)
	}
	var err error
	if e.url, err = parseTemplate(config.URL); err != nil {
		return nil, err
	}
	if err = e.readSchema(config.Parameters); err != nil {
		return nil, err
	}
	e.annotations = config.Annotations.Over(annotationsOf(e.method))
	e.header = config.Header.Clone()
	if e.header == nil {
		e.header = http.Header{}
	}
	e.client = netguard.NewClient(
		netguard.Options{Origin: e.url.origin, Header: config.Secrets, AllowPrivate: config.AllowPrivate},
	)
	return e, nil
}

// annotationsOf returns a method's effects by definition (RFC 9110, 9.2).
func annotationsOf(method string) parley.ToolAnnotations {
	switch method {
	case http.MethodGet, http.MethodHead:
		return parley.ToolAnnotations{ReadOnly: true, Idempotent: true, OpenWorld: true}
	case http.MethodPut, http.MethodDelete:
		return parley.ToolAnnotations{Idempotent: true, Destructive: true, OpenWorld: true}
	}
	return parley.ToolAnnotations{Destructive: true, OpenWorld: true}
}

// objectSchema is the part of a schema that Parley itself reads.
type objectSchema struct {
	Properties map[string]textSchema `json:"properties"`
	Required   []string              `json:"required,omitempty"`
	Type       string                `json:"type"`
}

type textSchema struct {
	Type string `json:"type"`
}

// readSchema reads the schema of the arguments, or derives one from the address.
func (e *endpoint) readSchema(raw json.RawMessage) (err error) {
	if len(raw) == 0 {
		made := objectSchema{Type: "object", Properties: map[string]textSchema{}, Required: e.url.names}
		for _, name := range e.url.names {
			made.Properties[name] = textSchema{"string"}
		}
		if raw, err = json.Marshal(made); err != nil {
			return err
		}
	}
	var of struct{ Type any }
	if json.Unmarshal(raw, &of) != nil || of.Type != "object" {
		return parley.InvalidField("parameters", "must be a JSON Schema of type object")
	}
	if e.schema, err = schema.Read(raw); err != nil {
		return parley.InvalidField("parameters", "this JSON Schema cannot be used: %s", parley.Clip(err.Error(), 300))
	}
	known := e.schema.Properties()
	for _, name := range e.url.names {
		if !known[name] {
			return parley.InvalidField(
				"parameters",
				"the URL's argument {%s} is not a property of the schema",
				parley.Clip(name, maxNameBytes),
			)
		}
	}
	e.definition.Parameters, err = parley.CanonicalJSON(raw)
	return err
}

func isName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}
