package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// Call reads a call with its request rebuilt, checked against the hash of the bytes that were sent, and explained: its
// parts, what it was not shown, its other attempts, its cost. A request that can no longer be rebuilt (another encoder,
// or a provider no longer configured) is not an error: Exact is false and Reason says why.
func (e *Engine) Call(ctx context.Context, principal parley.Principal, id parley.ID) (_ CallDetail, err error) {
	ctx, entered, err := e.enter(ctx, principal, "getCall", ReadSessions, on(id))
	if err != nil {
		return CallDetail{}, err
	}
	defer entered.end(ctx, &err)
	scope := entered.Scope
	leave, err := e.looks.enter(principal)
	if err != nil {
		return CallDetail{}, err
	}
	defer leave()
	ctx, done := e.reads(ctx, scope)
	defer done()
	call, err := e.store.Call(ctx, scope, id)
	if err != nil {
		return CallDetail{}, err
	}
	entered.about(in(call.SessionID, id))
	detail, again, err := e.reconstruct(ctx, scope, call)
	if err != nil {
		return CallDetail{}, err
	}
	return detail, e.explain(ctx, scope, &detail, again)
}

// rebuilt is a recorded request, made again.
type rebuilt struct {
	prompt.Sent
	read        []parley.Message // messages of the record from the manifest's first to its last
	instruction string           // that the call appends to the conversation's request; "" for most
}

// reconstruct reads the inputs of a call and makes its request again. If there are no bytes, the detail's Reason says
// why.
func (e *Engine) reconstruct(ctx context.Context, scope store.Scope, call parley.Call) (CallDetail, *rebuilt, error) {
	detail := CallDetail{Call: call, Explained: Explained{Tools: json.RawMessage("[]")}}
	again := &rebuilt{}
	system, err := e.callText(ctx, scope, call.SystemHash)
	if err != nil {
		return detail, nil, err
	}
	detail.System = string(system)
	tools, err := e.callText(ctx, scope, call.ToolsHash)
	if err != nil {
		return detail, nil, err
	}
	if len(tools) > 0 {
		detail.Tools = tools
	}
	instruction, err := e.callText(ctx, scope, call.InstructionHash)
	if err != nil {
		return detail, nil, err
	}
	again.instruction = string(instruction)
	if again.read, err = e.manifestMessages(ctx, scope, call); err != nil {
		return detail, nil, err
	}
	if err := e.rebuild(ctx, &detail, tools, again); err != nil {
		return detail, nil, err
	}
	again.Manifest = call.Manifest
	again.Shown = prompt.Shown(call.Manifest, again.read)
	again.Parts = prompt.Parts(&again.Request, again.Encoded, call.Manifest, again.Shown)
	if counted := call.Usage.InputTokens; counted != nil {
		prompt.Fit(again.Parts, int(*counted))
	}
	prompt.MarkCached(again.Parts, call.Usage)
	return detail, again, nil
}

// callText returns the text with the given hash; empty without a hash.
func (e *Engine) callText(ctx context.Context, scope store.Scope, hash parley.Hash) ([]byte, error) {
	if hash.IsZero() {
		return nil, nil
	}
	return e.store.CallText(ctx, scope.WorkspaceID, hash)
}

// manifestMessages reads the messages spanned by the manifest's ranges.
func (e *Engine) manifestMessages(
	ctx context.Context,
	scope store.Scope,
	call parley.Call,
) (messages []parley.Message, err error) {
	for _, span := range prompt.Spans(call.Manifest) {
		page, err := e.recorded(ctx, scope, call.SessionID, span[0], span[1])
		if err != nil {
			return nil, err
		}
		messages = append(messages, page...)
	}
	return messages, nil
}

// recorded reads a session's messages from one sequence to another.
func (e *Engine) recorded(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	from, to int64,
) (messages []parley.Message, err error) {
	for after := from - 1; after < to; {
		page, err := e.store.Messages(ctx, scope, sessionID, store.MessageQuery{
			AfterSequence: after, RecordOnly: true, Limit: int(min(to-after, parley.MaxPage)), MaxBytes: readingPage,
		})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		size := 0
		for i := range page {
			size += page[i].Size()
		}
		if err := countRead(ctx, size); err != nil {
			return nil, err
		}
		messages = append(messages, page...)
		after = page[len(page)-1].Sequence
	}
	return messages, nil
}

// rebuild fills Request, Exact and Reason. It assumes the registry's word on whether the model saw images and, if that
// makes another request, the opposite: what is known of a model may have changed since. An error is the store's.
func (e *Engine) rebuild(ctx context.Context, detail *CallDetail, toolsText []byte, again *rebuilt) error {
	definitions, err := prompt.DecodeTools(toolsText)
	if err != nil {
		detail.Reason = "The tool definitions of this call cannot be read."
		return nil //nolint:nilerr // Reason reports it
	}
	adapter, info, err := e.models.Resolve(detail.Model)
	if err != nil {
		detail.Reason = "The provider of this call is no longer configured, so its request cannot be encoded."
		return nil //nolint:nilerr // Reason reports it
	}
	const unencodable = "The request can no longer be encoded."
	layers, err := e.layersOf(ctx, store.Scope{WorkspaceID: detail.WorkspaceID}, &detail.Call)
	if code := parley.ErrorCode(err); code == parley.CodeInvalid || code == parley.CodeNotFound {
		detail.Reason = unencodable
		return nil
	}
	if err != nil {
		return err
	}
	var encoded model.EncodedRequest
	for _, vision := range []bool{info.Sees(), !info.Sees()} {
		files := attachments{engine: e, ctx: ctx, workspaceID: detail.WorkspaceID, vision: vision}
		request, err := prompt.Rebuild(detail.Call, layers.Edges(ctx), detail.System, definitions, again.read, files.of)
		if files.err != nil {
			return files.err
		}
		if err != nil {
			detail.Reason = "The request cannot be put together again from the record."
			return nil //nolint:nilerr // Reason reports it
		}
		request = prompt.Instructed(request, again.instruction)
		once, _, err := encodeAgain(ctx, layers, &detail.Call, adapter, &request)
		if code := parley.ErrorCode(err); err != nil && code != parley.CodeInvalid && code != parley.CodeNotFound {
			return err
		}
		if err != nil {
			detail.Reason = unencodable
			return nil //nolint:nilerr // Reason reports it
		}
		detail.Exact = parley.HashOf(once.Body) == detail.RequestHash
		if encoded.Body == nil || detail.Exact {
			encoded, again.Request = once, request
		}
		if detail.Exact || !files.images {
			break
		}
	}
	switch {
	case detail.Exact:
	case encoded.Version != detail.EncoderVersion:
		detail.Reason = "The call was encoded by another version of the encoder."
	default:
		detail.Reason = "The rebuilt request differs from the one that was sent."
	}
	again.Encoded = encoded.Body
	if json.Valid(encoded.Body) {
		detail.Request = encoded.Body
	}
	return nil
}
