// Package document holds the tools with which agents list, read, write and edit documents, which the API calls
// artifacts, and run transforms on them. An agent sees the documents of its session, and those of the session's
// project that every reader of the session may see: in a private session its owner's, in a shared one the workspace's.
// Documents that it creates belong to its session. Each version names the tool call that wrote it, and a call that is
// repeated after a crash finds the version that it wrote before. The package owns no state.
package document

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// sourceName is the Source of these tools.
const sourceName = "builtin"

// The names of the tools.
const (
	List  = "list_artifacts"
	Read  = "read_artifact"
	Write = "write_artifact"
	Edit  = "edit_artifact"
)

// Store is what the tools read and write. A store.Store implements it.
type Store interface {
	artifact.Store
	Artifacts(ctx context.Context, scope store.Scope, query store.ArtifactQuery) ([]parley.Artifact, error)
	Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error)
	Agent(ctx context.Context, workspaceID parley.ID, ref string) (parley.Agent, error)
}

// Options configure the tools.
type Options struct {
	MaxStorage int64            // bytes that each workspace may hold; 0: unlimited
	Places     *artifact.Places // where contents are worked on; nil: the tools' own
}

// Source is the set of tools. It implements tool.Source.
type Source struct {
	tools []tool.Tool // by name
}

var _ tool.Source = Source{}

// Tools returns the tools on a store's documents.
func Tools(over Store, options Options) Source {
	s := shelf{over, options.MaxStorage, options.Places}
	if s.places == nil {
		s.places = artifact.NewPlaces()
	}
	return Source{[]tool.Tool{
		onShelf{editDefinition(), parley.ToolAnnotations{Idempotent: true}, s.edit},
		onShelf{listDefinition(), parley.ToolAnnotations{ReadOnly: true, Idempotent: true}, s.list},
		onShelf{readDefinition(), parley.ToolAnnotations{ReadOnly: true, Idempotent: true}, s.read},
		onShelf{transformDefinition(), parley.ToolAnnotations{Idempotent: true}, runTransform},
		onShelf{writeDefinition(), parley.ToolAnnotations{Idempotent: true}, s.write},
	}}
}

// Tool finds a tool by its exact name.
func (s Source) Tool(name string) (tool.Tool, bool) {
	at := slices.IndexFunc(s.tools, func(t tool.Tool) bool { return t.Definition().Name == name })
	if at < 0 {
		return nil, false
	}
	return s.tools[at], true
}

// Tools lists the tools by name.
func (s Source) Tools() []tool.Tool { return slices.Clone(s.tools) }

// For implements tool.Source: every workspace has the same tools.
func (s Source) For(parley.ID) tool.Source { return s }

// Expects implements tool.Source: the tools are always there.
func (Source) Expects(string) bool { return false }

// Await implements tool.Source.
func (Source) Await(context.Context) {}

// Faults implements tool.Source: the tools are always usable.
func (Source) Faults() []tool.Fault { return nil }

// pieces is an answer that is not JSON alone.
type pieces []tool.Piece

// onShelf is one tool.
type onShelf struct {
	definition  parley.ToolDefinition
	annotations parley.ToolAnnotations
	answer      func(ctx context.Context, call tool.Call) (any, error)
}

// Definition implements tool.Tool.
func (t onShelf) Definition() parley.ToolDefinition { return t.definition }

// Annotations implements tool.Tool.
func (t onShelf) Annotations() parley.ToolAnnotations {
	annotations := t.annotations
	annotations.Order = "artifacts"
	return annotations
}

// Source implements tool.Tool.
func (onShelf) Source() string { return sourceName }

// Call implements tool.Tool.
func (t onShelf) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	answer, err := t.answer(ctx, call)
	if err != nil {
		return tool.Result{}, err
	}
	if shown, ok := answer.(pieces); ok {
		return tool.Result{Pieces: shown}, nil
	}
	return tool.JSON(parley.EncodeJSON(answer))
}

// schema returns the schema of a tool's arguments.
func schema(required []string, properties ...string) json.RawMessage {
	names, _ := json.Marshal(required) //nolint:errchkjson // strings
	return json.RawMessage(`{"additionalProperties":false,"properties":{` + strings.Join(properties, ",") +
		`},"required":` + string(names) + `,"type":"object"}`)
}

// shelf gives access to the documents that agents work on.
type shelf struct {
	store      Store
	maxStorage int64
	places     *artifact.Places
}

// desk is the part of the shelf that one call may use.
type desk struct {
	shelf
	session parley.Session
	scope   store.Scope // of all who read the session
}

func (s shelf) open(ctx context.Context, call tool.Call) (desk, error) {
	session, err := s.store.Session(ctx, store.Scope{WorkspaceID: call.WorkspaceID}, call.SessionID)
	if err != nil {
		return desk{}, err
	}
	return desk{s, session, store.Scope{WorkspaceID: call.WorkspaceID, ViewerID: session.ReaderID()}}, nil
}

// find returns a document by the id that a model gave. Documents that some readers of the session may not
// see, or that belong to neither the session nor its project, are not found.
func (d *desk) find(ctx context.Context, given string) (parley.Artifact, error) {
	id, err := parley.ParseID(given)
	if err != nil {
		return parley.Artifact{}, parley.InvalidField("id", "is not the id of an artifact; %s gives them", List)
	}
	found, err := d.store.Artifact(ctx, d.scope, id)
	if err == nil && !d.session.Reaches(&found) {
		err = parley.Errorf(parley.CodeNotFound, "there is no artifact %s in this conversation or its project", id)
	}
	return found, err
}

// authored returns a version by the session's agent that names the call.
func (d *desk) authored(ctx context.Context, call tool.Call) (parley.ArtifactVersion, error) {
	agent, err := d.store.Agent(ctx, call.WorkspaceID, d.session.AgentID.String())
	return parley.ArtifactVersion{
		Author:    parley.Author{Kind: parley.AuthorAgent, ID: agent.ID, Name: agent.Name},
		SessionID: call.SessionID, MessageID: call.MessageID,
	}, err
}

// once returns the key under which a repeated call finds what it has written.
func once(call tool.Call) store.Idempotency {
	return store.Idempotency{
		Key: parley.WrittenByCall(call.MessageID), Fingerprint: parley.HashOf(call.Arguments),
	}
}
