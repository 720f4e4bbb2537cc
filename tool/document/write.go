package document

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/store"
	"example.org/parley/tool"
)

func writeDefinition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name: Write,
		Description: "Writes a document (artifact), whole: a new one by name and kind, or a new version of one by id " +
			"and the version that you have read. Earlier versions are kept. Use edit_artifact for small changes.",
		Parameters: schema([]string{"content"},
			`"base_version":{"description":"With id: the version that you have read. If there is a newer one, `+
				`nothing is written.","minimum":1,"type":"integer"}`,
			`"content":{"description":"All of the text, as a string; of kind json the value."}`,
			`"id":{"description":"Of a document that gets a new version; leave out for a new one.","type":"string"}`,
			`"kind":{"description":"Of a new document. Default markdown.",`+
				`"enum":["json","markdown","text","code","csv","html","svg"],"type":"string"}`,
			`"labels":{"description":"Of a new document.","items":{"type":"string"},"type":"array"}`,
			`"name":{"description":"Of a new document.","type":"string"}`),
	}
}

// written is the answer to a write and an edit.
type written struct {
	ID      parley.ID `json:"id"`
	Name    string    `json:"name"`
	Version int       `json:"version"`
	Merged  bool      `json:"merged,omitempty"` // with later versions than the base
	Bytes   int64     `json:"size"`
}

// writing are the arguments of write_artifact.
type writing struct {
	ID          string              `json:"id"`
	BaseVersion int                 `json:"base_version"`
	Name        string              `json:"name"`
	Kind        parley.ArtifactKind `json:"kind"`
	Labels      []string            `json:"labels"`
	Content     json.RawMessage     `json:"content"`
}

func (s shelf) write(ctx context.Context, call tool.Call) (any, error) {
	var given writing
	if err := call.Read(&given); err != nil {
		return nil, err
	}
	d, err := s.open(ctx, call)
	if err != nil {
		return nil, err
	}
	if given.ID == "" {
		return d.create(ctx, call, &given)
	}
	if given.Name != "" || given.Kind != "" || given.Labels != nil {
		return nil, parley.InvalidField("name", "name, kind and labels are for new documents; leave them out with id")
	}
	if given.BaseVersion < 1 {
		return nil, parley.InvalidField("base_version", "is missing; name the version that you have read")
	}
	a, err := d.find(ctx, given.ID)
	if err != nil {
		return nil, err
	}
	if a.Kind == parley.ArtifactFile {
		return nil, parley.Errorf(parley.CodeUnsupported, "the artifact is a file, which people write")
	}
	content, err := contentOf(a.Kind, given.Content)
	if err != nil {
		return nil, err
	}
	return d.change(ctx, call, &a, &artifact.Writing{Base: given.BaseVersion, Content: content})
}

// contentOf returns the bytes of a content. Models send JSON as a value or, often, as its text.
func contentOf(kind parley.ArtifactKind, given json.RawMessage) ([]byte, error) {
	var text *string
	isText := json.Unmarshal(given, &text) == nil && text != nil
	switch {
	case len(given) == 0:
		return nil, parley.InvalidField("content", "is missing")
	case kind != parley.ArtifactJSON && !isText:
		return nil, parley.InvalidField("content", "must be a string in a document of kind %s", kind)
	case kind != parley.ArtifactJSON:
		return []byte(*text), nil
	case isText:
		if inner := bytes.TrimSpace([]byte(*text)); len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') {
			return inner, nil
		}
	}
	return given, nil
}

func (d *desk) create(ctx context.Context, call tool.Call, given *writing) (any, error) {
	if given.BaseVersion != 0 {
		return nil, parley.InvalidField("base_version", "needs the id of the document")
	}
	version, err := d.authored(ctx, call)
	if err != nil {
		return nil, err
	}
	if given.Kind == parley.ArtifactFile {
		return nil, parley.InvalidField("kind", "a file is made by people; write a text or JSON")
	}
	a := parley.Artifact{
		ID: parley.NewID(), WorkspaceID: call.WorkspaceID, ProjectID: d.session.ProjectID, SessionID: d.session.ID,
		OwnerID: d.session.OwnerID, Visibility: d.session.Visibility,
		Kind: cmp.Or(given.Kind, parley.ArtifactMarkdown), Name: strings.TrimSpace(given.Name),
		Labels: slices.Compact(slices.Sorted(slices.Values(given.Labels))),
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	content, err := contentOf(a.Kind, given.Content)
	if err != nil {
		return nil, err
	}
	leave, err := d.places.Enter(ctx, &a, len(content))
	if err != nil {
		return nil, err
	}
	defer leave()
	made, repeat, err := artifact.Create(ctx, d.store, store.NewArtifact{
		Artifact: a, Version: version, MaxStorage: d.maxStorage, Idempotency: once(call),
	}, content)
	if err != nil {
		return nil, err
	}
	answer := written{ID: made.ID, Name: made.Name, Version: 1, Bytes: made.Bytes}
	if repeat && made.Version > 1 { // others have written since
		first, err := d.store.ArtifactVersion(ctx, d.scope, made.ID, 1)
		answer.Bytes = first.Bytes
		return answer, err
	}
	return answer, nil
}

// change writes a version.
func (d *desk) change(
	ctx context.Context, call tool.Call, a *parley.Artifact, change *artifact.Writing,
) (any, error) {
	version, err := d.authored(ctx, call)
	if err != nil {
		return nil, err
	}
	change.Scope, change.ArtifactID, change.Version = d.scope, a.ID, version
	change.MaxStorage, change.Idempotency = d.maxStorage, once(call)
	leave, err := d.places.Enter(ctx, a, len(call.Arguments), change.Base)
	if err != nil {
		return nil, err
	}
	defer leave()
	made, _, err := artifact.Write(ctx, d.store, change)
	if err != nil {
		return nil, err
	}
	return written{
		ID: a.ID, Name: a.Name, Version: made.Number, Merged: made.Merged(), Bytes: made.Bytes,
	}, nil
}

func editDefinition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name: Edit,
		Description: "Changes parts of a document (artifact) and keeps the rest, as a new version: edits replace " +
			"passages of a text, a patch changes a JSON document. Nothing is written if one of them does not apply.",
		Parameters: schema([]string{"id"},
			`"base_version":{"description":"The version that you have read: changes that others made since are `+
				`kept, or you are told where both touch the same place. Default the newest.",`+
				`"minimum":1,"type":"integer"}`,
			`"edits":{"description":"Passages of a text to replace, one after the other.","items":{`+
				`"additionalProperties":false,"properties":{`+
				`"all":{"description":"Replaces every occurrence. Default false: old must occur once.",`+
				`"type":"boolean"},`+
				`"new":{"description":"What takes its place.","type":"string"},`+
				`"old":{"description":"The passage, exactly as it stands.","type":"string"}},`+
				`"required":["old","new"],"type":"object"},"type":"array"}`,
			`"id":{"description":"As list_artifacts or write_artifact gave it.","type":"string"}`,
			`"patch":{"description":"A JSON Patch (RFC 6902) for a JSON document.","items":{`+
				`"additionalProperties":false,"properties":{`+
				`"from":{"description":"Of move and copy: JSON Pointer to the value.","type":"string"},`+
				`"op":{"enum":["add","remove","replace","move","copy","test"],"type":"string"},`+
				`"path":{"description":"JSON Pointer.","type":"string"},`+
				`"value":{"description":"Of add, replace and test."}},`+
				`"required":["op","path"],"type":"object"},"type":"array"}`),
	}
}

func (s shelf) edit(ctx context.Context, call tool.Call) (any, error) {
	var given struct {
		ID          string            `json:"id"`
		BaseVersion int               `json:"base_version"`
		Edits       []parley.TextEdit `json:"edits"`
		Patch       []parley.JSONEdit `json:"patch"`
	}
	if err := call.Read(&given); err != nil {
		return nil, err
	}
	if (len(given.Edits) == 0) == (len(given.Patch) == 0) {
		return nil, parley.InvalidField(
			"edits",
			"give edits for a text or a patch for a json document, and one of them",
		)
	}
	if given.BaseVersion < 0 {
		return nil, parley.InvalidField("base_version", "versions count from 1")
	}
	d, err := s.open(ctx, call)
	if err != nil {
		return nil, err
	}
	a, err := d.find(ctx, given.ID)
	if err != nil {
		return nil, err
	}
	change := artifact.Writing{Base: given.BaseVersion, Merge: given.BaseVersion != 0}
	if len(given.Edits) > 0 {
		change.Edits = given.Edits
	} else {
		change.Patch = given.Patch
	}
	return d.change(ctx, call, &a, &change)
}
