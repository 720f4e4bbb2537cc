package worker

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"example.org/parley"
	"example.org/parley/live"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// row is a streaming message of a running step. Its text lives in its stream.
type row struct {
	id       parley.ID
	fence    store.Fence
	role     parley.Role
	model    parley.ModelID
	callID   string // Parley's own id of a tool_call
	toolName string
	stream   *live.Stream // nil until the row's opening has committed
	refusal  strings.Builder
	cited    []parley.Citation // of its text, counted in characters
	metadata []byte            // of a tool_call, if any
	object   json.RawMessage   // what its text says as a structured answer
	data     []byte            // provider data
	dataFrom int               // the block that it came with
	reasoned bool              // has a reasoning block
	texted   bool              // has a text or refusal block
	chunks   atomic.Int64
	shown    int          // bytes that watchers may see; owned by the goroutine that takes the answer
	stored   atomic.Int64 // the part of them that the store has

	// The following are guarded by flusher.writing.
	versions int
	flushed  [2]int // bytes per kind, in the order of kinds
	// unsure are the versions of a flush that failed, met a locked session, or is under way: the store may have them.
	// They are repeated unchanged, since the store keeps the first version of each number.
	unsure []store.FencedVersion
}

// grown returns versions with the new text of the row.
func (r *row) grown() (versions []store.FencedVersion) {
	for i, kind := range r.kinds() {
		from := r.flushed[i]
		if kind == "" || r.stream.Len(kind) <= from {
			continue
		}
		text := r.stream.Text(kind)
		versions = append(versions, store.FencedVersion{Fence: r.fence, Version: parley.Version{
			MessageID: r.id, N: r.versions + len(versions) + 1, Kind: kind, Offset: from, End: len(text),
			Chunks: int(r.chunks.Load()), Text: text[from:],
		}})
	}
	return versions
}

// kept notes that the store has the unsure versions.
func (r *row) kept() {
	for i := range r.unsure {
		v := &r.unsure[i].Version
		r.versions = v.N
		kinds := r.kinds()
		r.flushed[slices.Index(kinds[:], v.Kind)] = v.End
		r.stored.Store(int64(r.flushed[0] + r.flushed[1]))
		r.stream.Kept(v.Kind, v.End)
	}
	r.unsure = nil
}

// kinds returns the kinds of text that can grow in a row; unused places are "".
func (r *row) kinds() [2]parley.ContentKind {
	if r.role == parley.RoleToolCall {
		return [2]parley.ContentKind{parley.KindArguments}
	}
	return [2]parley.ContentKind{parley.KindReasoning, parley.KindText}
}

// open shows the row to watchers and to the store flush, once the transaction that opened it has committed.
func (r *row) open(w *Worker) {
	r.stream = w.hub.Open(live.StreamRef{
		WorkspaceID: r.fence.WorkspaceID, SessionID: r.fence.SessionID, TurnID: r.fence.TurnID,
		MessageID: r.id, Epoch: r.fence.Epoch,
	})
	w.flusher.add(r)
}

// settled returns the form in which the row enters the record.
func (r *row) settled(status parley.MessageStatus, failure *parley.Failure) (store.BlockSettled, error) {
	block := store.BlockSettled{
		MessageID: r.id, Status: status, ProviderData: r.data, ToolName: r.toolName,
		Metadata: r.metadata, Chunks: int(r.chunks.Load()),
	}
	if status == parley.MessageFailed {
		block.Error = failure
	}
	var err error
	if r.role == parley.RoleToolCall {
		text := r.stream.Text(parley.KindArguments)
		block.TokenEstimate = prompt.Estimate(r.model, r.toolName) + prompt.Estimate(r.model, text)
		content := parley.ToolCallContent{ID: r.callID, Name: r.toolName, Arguments: json.RawMessage("null")}
		arguments, ok := readArguments(text)
		switch {
		case ok && (text != "" || status == parley.MessageCompleted):
			content.Arguments = arguments
		default:
			content.ArgumentsText = text
		}
		block.Content, err = parley.EncodeContent(content)
		return block, err
	}
	content := parley.AssistantContent{
		Reasoning: r.stream.Text(
			parley.KindReasoning,
		),
		Text:    r.stream.Text(parley.KindText),
		Refusal: r.refusal.String(),
		Object:  r.objectOf(status),
	}
	block.TokenEstimate = prompt.Estimate(
		r.model,
		content.Reasoning,
	) + prompt.Estimate(
		r.model,
		content.Text,
	) + prompt.Estimate(
		r.model,
		content.Refusal,
	)
	content.Cite(r.cited)
	block.Content, err = parley.EncodeContent(content)
	return block, err
}

// readArguments reads a model's text of a call's arguments: a JSON object, as canonical JSON. Empty text counts as an
// empty object.
func readArguments(text string) (json.RawMessage, bool) {
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) == 0 {
		return json.RawMessage("{}"), true
	}
	if raw[0] != '{' || parley.CheckJSONBounds(raw) != nil || !json.Valid(raw) {
		return nil, false
	}
	canonical, err := parley.CanonicalJSON(raw)
	return canonical, err == nil
}
