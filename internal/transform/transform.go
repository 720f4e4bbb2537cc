// Package transform prepares generations on documents, and reads what they have written: it shows the model the inputs
// with their labels, asks for the outputs, checks the answer, and packs it for the store. It owns no state. The
// transition that ends the turn writes the versions.
package transform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/document"
	"example.org/parley/internal/schema"
	"example.org/parley/store"
)

// Names in the answer of a structured transform.
const (
	outputsName = "outputs"
	sourcesName = "sources"
)

// Prepare completes the inputs and outputs of a transform that a scope asks for: their versions, and what an output's
// artifact is. It returns the text that the model is shown, and what it is asked for. CodeNotFound for an artifact that
// the scope does not see; CodeArchived; CodeInvalid; CodeTooLarge beyond parley.MaxTransformInputBytes.
func Prepare(
	ctx context.Context,
	from artifact.Reader,
	places *artifact.Places,
	scope store.Scope,
	t *parley.Transform,
) (text string, output *parley.Output, err error) {
	if err := t.TransformSpec.Validate(); err != nil {
		return "", nil, err
	}
	if len(t.Inputs) > parley.MaxTransformInputs {
		return "", nil, parley.InvalidField("inputs", "at most %d inputs", parley.MaxTransformInputs)
	}
	if err := targets(ctx, from, scope, t); err != nil {
		return "", nil, err
	}
	var shown strings.Builder
	shown.WriteString(strings.TrimSpace(t.Instructions))
	for i := range t.Inputs {
		part, kind, err := input(ctx, from, places, scope, &t.Inputs[i])
		if err != nil {
			return "", nil, err
		}
		if shown.Len()+len(part) > parley.MaxTransformInputBytes {
			return "", nil, parley.Errorf(parley.CodeTooLarge,
				"The instructions and inputs of a transform hold more than %d bytes. Choose parts with pointers.",
				parley.MaxTransformInputBytes)
		}
		show(&shown, i+1, &t.Inputs[i], kind, part)
	}
	output = &parley.Output{} // plain text, whatever the agent asks for
	if t.Structured() {
		describe(&shown, t)
		if output, err = wanted(t); err != nil {
			return "", nil, err
		}
	} else {
		fmt.Fprintf(&shown, "\n\nAnswer with the content of %q (%s) alone: no introduction, no remarks.",
			t.Outputs[0].Title, t.Outputs[0].Kind)
	}
	return shown.String(), output, nil
}

// targets completes the outputs.
func targets(ctx context.Context, from artifact.Reader, scope store.Scope, t *parley.Transform) error {
	all := make([]parley.TransformTarget, 0, len(t.Outputs))
	for i := range t.Outputs {
		out := &t.Outputs[i]
		out.Position = i + 1
		if out.Name == "" && len(t.Outputs) == 1 {
			out.Name = parley.DefaultTransformOutput
		}
		if out.ArtifactID.IsZero() {
			out.ArtifactID, out.Creates = parley.NewID(), true
			if out.Title == "" {
				out.Title = t.Name
			}
			if bytes.Equal(bytes.TrimSpace(out.Schema), []byte("null")) {
				out.Schema = nil
			}
		} else if !out.Creates {
			a, err := from.Artifact(ctx, scope, out.ArtifactID)
			switch {
			case err != nil:
				return err
			case a.ArchivedAt != 0:
				return parley.Errorf(parley.CodeArchived, "the artifact %q is archived and takes no versions", a.Name)
			case out.BaseVersion < 0 || out.BaseVersion > a.Newest:
				return parley.InvalidField("outputs.base_version", "there is no version %d; the newest is %d",
					out.BaseVersion, a.Newest)
			case out.BaseVersion == 0:
				out.BaseVersion = a.Version
			}
			out.Kind, out.Title, out.Schema = a.Kind, a.Name, a.Schema
		}
		out.Sources = []parley.TransformSource{}
		all = append(all, out.TransformTarget)
		for _, other := range t.Outputs[:i] {
			if other.ArtifactID == out.ArtifactID {
				return parley.InvalidField("outputs.artifact_id", "two outputs write the same artifact")
			}
		}
	}
	if err := parley.ValidateTargets(all); err != nil {
		return err
	}
	for i := range all {
		if all[i].Schema != nil {
			if _, err := schema.Read(all[i].Schema); err != nil {
				return parley.InvalidField("outputs.schema", "%s", parley.Clip(err.Error(), 300))
			}
		}
	}
	return nil
}

// input reads the part of an input that is shown, and completes its version.
func input(
	ctx context.Context,
	from artifact.Reader,
	places *artifact.Places,
	scope store.Scope,
	in *parley.TransformInput,
) ([]byte, parley.ArtifactKind, error) {
	if err := parley.CheckText("inputs.name", in.Name, parley.MaxNameBytes); err != nil {
		return nil, "", err
	}
	if err := parley.CheckText("inputs.pointer", in.Pointer, parley.MaxTransformPointer); err != nil {
		return nil, "", err
	}
	a, err := from.Artifact(ctx, scope, in.ArtifactID)
	if err != nil {
		return nil, "", err
	}
	if in.Version == 0 {
		in.Version = a.Version
	}
	if in.Name == "" {
		in.Name = a.Name
	}
	if in.Version < 1 || in.Version > a.Newest {
		return nil, "", parley.InvalidField("inputs.version", "there is no version %d; the newest is %d", in.Version,
			a.Newest)
	}
	leave, err := places.Enter(ctx, &a, 0, in.Version)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	content, err := artifact.Content(ctx, from, scope, a.ID, in.Version)
	if err != nil || in.Pointer == "" {
		return content, a.Kind, err
	}
	if a.Kind != parley.ArtifactJSON {
		return nil, "", parley.InvalidField("inputs.pointer", "only a json artifact has parts with pointers")
	}
	content, err = document.At(content, in.Pointer)
	return content, a.Kind, err
}

// show writes an input with its label, inside a fence that does not occur in it.
func show(to *strings.Builder, n int, in *parley.TransformInput, kind parley.ArtifactKind, part []byte) {
	fmt.Fprintf(to, "\n\nInput %d: %q (%s), artifact %s, version %d", n, in.Name, kind, in.ArtifactID, in.Version)
	if in.Pointer != "" {
		fmt.Fprintf(to, ", pointer %s", in.Pointer)
	}
	fence := "```"
	for bytes.Contains(part, []byte(fence)) {
		fence += "`"
	}
	language := ""
	if kind == parley.ArtifactJSON {
		language = "json"
	}
	fmt.Fprintf(to, "\n%s%s\n%s\n%s", fence, language, part, fence)
}

// describe says what the answer of a structured transform holds.
func describe(to *strings.Builder, t *parley.Transform) {
	to.WriteString("\n\nAnswer with an object. Its member \"outputs\" holds what you write:")
	for i := range t.Outputs {
		out := &t.Outputs[i]
		form := "as a string"
		if out.Kind == parley.ArtifactJSON {
			form = "as JSON"
		}
		fmt.Fprintf(to, "\n- %q: the whole content of %q (%s), %s.", out.Name, out.Title, out.Kind, form)
	}
	if t.Cite {
		to.WriteString(
			"\nIts member \"sources\" says what you made them from: each entry names an output, an input by " +
				"its number, and the part of it: the JSON Pointer of a value in the JSON that is shown, or the first " +
				"and last line of a passage. For an output that is JSON, target is the pointer of what was made from " +
				"it.",
		)
	}
}

// textSchema is the schema of an output that is a text.
const textSchema = `{"type":"string"}`

// sourcesSchema is the schema of the citations.
const sourcesSchema = `{"items":{"properties":{"from_line":{"type":"integer"},"input":{"type":"integer"},` +
	`"output":{"type":"string"},"pointer":{"type":"string"},"target":{"type":"string"},` +
	`"to_line":{"type":"integer"}},"required":["output","input"],"type":"object"},"type":"array"}`

// wanted is the schema of a structured answer.
func wanted(t *parley.Transform) (*parley.Output, error) {
	var properties, names bytes.Buffer
	for i := range t.Outputs {
		out := &t.Outputs[i]
		of := []byte(textSchema)
		if out.Kind == parley.ArtifactJSON {
			of = []byte(`{}`)
		}
		if out.Schema != nil {
			var err error
			if of, err = within(out.Schema, "/properties/"+outputsName+"/properties/"+out.Name); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			properties.WriteByte(',')
			names.WriteByte(',')
		}
		name := parley.AppendJSONString(nil, out.Name)
		properties.Write(name)
		properties.WriteByte(':')
		properties.Write(of)
		names.Write(name)
	}
	sources := ""
	if t.Cite {
		sources = `,"` + sourcesName + `":` + sourcesSchema
	}
	made := json.RawMessage(`{"type":"object","properties":{"` + outputsName + `":{"type":"object","properties":{` +
		properties.String() + `},"required":[` + names.String() + `],"additionalProperties":false}` + sources +
		`},"required":["` + outputsName + `"],"additionalProperties":false}`)
	output := &parley.Output{Schema: &made, Name: "transform"}
	if err := output.Validate(); err != nil {
		return nil, err
	}
	if _, err := schema.Read(made); err != nil {
		return nil, parley.InvalidField("outputs.schema", "%s", parley.Clip(err.Error(), 300))
	}
	return output, nil
}

// within returns a schema as part of another one, at a pointer: references to its own parts lead there.
func within(given json.RawMessage, pointer string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, parley.InvalidField("outputs.schema", "is not valid JSON")
	}
	refer(root, pointer)
	return parley.EncodeJSON(root)
}

// refer changes the references of a schema. The depth of the schema, which was read within bounds, bounds it.
func refer(node any, pointer string) {
	switch node := node.(type) {
	case map[string]any:
		for name, value := range node {
			text, isText := value.(string)
			switch {
			case name == "$ref" && isText && strings.HasPrefix(text, "#"):
				node[name] = "#" + pointer + text[1:]
			case name == "const", name == "enum", name == "default", name == "examples": // values, not schemas
			default:
				refer(value, pointer)
			}
		}
	case []any:
		for _, value := range node {
			refer(value, pointer)
		}
	}
}

// ErrUnreadable reports that the owner of a transform may no longer read one of its inputs.
var ErrUnreadable = errors.New("the transform's owner may no longer read one of its inputs")

// Answer is what the model of a transform has answered.
type Answer struct {
	Text   string
	Object json.RawMessage // of a structured one
}

// Read returns what an answer writes. An output whose artifact was deleted, or that the owner may no longer see, is
// left out. wrong says, for the model, why the answer cannot be written; ErrUnreadable if the owner lost an input.
func Read(
	ctx context.Context,
	from artifact.Reader,
	places *artifact.Places,
	t *parley.Transform,
	answer Answer,
) (written []store.TransformWriting, wrong string, err error) {
	scope := store.Scope{WorkspaceID: t.WorkspaceID, ViewerID: t.OwnerID}
	if err := readable(ctx, from, scope, t); err != nil {
		return nil, "", err
	}
	var given struct {
		Outputs map[string]json.RawMessage `json:"outputs"`
		Sources []cited                    `json:"sources"`
	}
	if t.Structured() {
		if err := json.Unmarshal(answer.Object, &given); err != nil {
			return nil, "the answer is not an object with outputs", nil //nolint:nilerr // the model is told
		}
	}
	sources := citations{ctx: ctx, from: from, places: places, scope: scope, t: t}
	for i := range t.Outputs {
		out := &t.Outputs[i]
		content := []byte(unfenced(out.Kind, answer.Text))
		if t.Structured() {
			content = given.Outputs[out.Name]
			if out.Kind != parley.ArtifactJSON {
				var text string
				if err := json.Unmarshal(content, &text); err != nil {
					return nil, fmt.Sprintf("outputs.%s is not a string", out.Name), nil //nolint:nilerr // as above
				}
				content = []byte(text)
			}
		}
		packed, err := pack(ctx, from, places, scope, t, out, content)
		var refused *parley.Error
		switch {
		case parley.ErrorCode(err) == parley.CodeNotFound:
			continue
		case errors.As(err, &refused) && (refused.Code == parley.CodeInvalid || refused.Code == parley.CodeTooLarge):
			return nil, out.Name + ": " + refused.Error(), nil
		case err != nil:
			return nil, "", err
		}
		one := store.TransformWriting{Output: *out, Content: packed}
		if one.Sources, err = sources.of(out, content, given.Sources); err != nil {
			return nil, "", err
		}
		written = append(written, one)
	}
	return written, "", nil
}

// readable checks that the owner may still read the inputs that still exist.
func readable(ctx context.Context, from artifact.Reader, scope store.Scope, t *parley.Transform) error {
	for i := range t.Inputs {
		id := t.Inputs[i].ArtifactID
		_, err := from.Artifact(ctx, scope, id)
		if parley.ErrorCode(err) == parley.CodeNotFound {
			_, err = from.Artifact(ctx, store.Scope{WorkspaceID: scope.WorkspaceID}, id)
			if err == nil {
				return ErrUnreadable
			}
			if parley.ErrorCode(err) == parley.CodeNotFound {
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfenced returns an answer's text without the fence that models put around files.
func unfenced(kind parley.ArtifactKind, text string) string {
	if kind == parley.ArtifactMarkdown || kind == parley.ArtifactText {
		return text
	}
	const fence = "```"
	parts := strings.Split(strings.TrimSpace(text), fence)
	if len(parts) != 3 || parts[0] != "" || parts[2] != "" {
		return text
	}
	_, inside, _ := strings.Cut(parts[1], "\n") // after the language's name
	return inside
}

// pack checks the content of an output and packs it on the version that it replaces.
func pack(
	ctx context.Context,
	from artifact.Reader,
	places *artifact.Places,
	scope store.Scope,
	t *parley.Transform,
	out *parley.TransformOutput,
	content []byte,
) (store.ArtifactContent, error) {
	a := parley.Artifact{
		ID: out.ArtifactID, WorkspaceID: t.WorkspaceID, Kind: out.Kind, Name: out.Title, Schema: out.Schema,
	}
	if !out.Creates {
		var err error
		if a, err = from.Artifact(ctx, scope, out.ArtifactID); err != nil {
			return store.ArtifactContent{}, err
		}
	}
	leave, err := places.Enter(ctx, &a, len(content), out.BaseVersion)
	if err != nil {
		return store.ArtifactContent{}, err
	}
	defer leave()
	return artifact.Pack(ctx, from, &a, out.BaseVersion, content)
}
