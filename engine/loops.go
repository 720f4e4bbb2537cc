package engine

import (
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/store"
)

// LoopInput is a loop to start.
type LoopInput struct {
	Prompt      string             `json:"prompt" doc:"The text that begins every iteration."`
	Max         *int               `json:"max,omitempty" minimum:"1" maximum:"1000" doc:"The most iterations; 10 by default."`
	Until       *LoopUntilInput    `json:"until,omitempty" doc:"What ends the loop early; exactly one of its fields."`
	Context     parley.LoopContext `json:"context,omitzero" doc:"What an iteration sees besides itself: fresh, the default, for nothing, or {recent: n} for the n iterations before it."`
	ArchiveDone bool               `json:"archive_when_done,omitempty" doc:"Archive the session when the condition is met or max is reached, unless something else waits in it."`
}

// LoopUntilInput is what ends a loop early.
type LoopUntilInput parley.LoopUntil

// LoopStopInput says how to stop a loop.
type LoopStopInput struct {
	Now bool `json:"now,omitempty" doc:"Cancel the running iteration; by default it runs to its end."`
}

// LoopList selects loops, newest first by default.
type LoopList struct{ Paging }

// StartLoop starts a loop in a session, as store.Loops.StartLoop says.
func (e *Engine) StartLoop(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input LoopInput,
	idempotency store.Idempotency,
) (_ store.LoopStarted, err error) {
	ctx, call, err := e.enter(ctx, principal, "startLoop", PostMessages, of(sessionID))
	if err != nil {
		return store.LoopStarted{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := checkIdempotency(idempotency); err != nil {
		return store.LoopStarted{}, err
	}
	loop, err := newLoop(principal, input)
	if err != nil {
		return store.LoopStarted{}, err
	}
	if err := traced(ctx, &loop.First); err != nil {
		return store.LoopStarted{}, err
	}
	loop.Idempotency = idempotency
	run := e.offer(scope.WorkspaceID, true)
	started, err := e.store.StartLoop(ctx, scope, sessionID, loop, run.processID())
	if err != nil {
		run.settle(nil)
		return store.LoopStarted{}, err
	}
	call.about(in(sessionID, started.Loop.ID))
	run.settle(started.Claim)
	return started, nil
}

// newLoop validates a loop from outside and returns the store's form of it.
func newLoop(principal parley.Principal, input LoopInput) (loop store.NewLoop, err error) {
	if strings.TrimSpace(input.Prompt) == "" {
		return loop, parley.InvalidField("prompt", "is empty; say what every iteration is to do")
	}
	if err := parley.CheckText("prompt", input.Prompt, parley.MaxTextBytes); err != nil {
		return loop, err
	}
	loop.Loop = parley.Loop{
		ID:          parley.NewID(),
		Prompt:      input.Prompt,
		Max:         parley.DefaultLoopIterations,
		Context:     input.Context,
		ArchiveDone: input.ArchiveDone,
		Author:      principal.Author(),
	}
	if input.Max != nil {
		loop.Loop.Max = *input.Max
	}
	if loop.Loop.Max < 1 || loop.Loop.Max > parley.MaxLoopIterations {
		return loop, parley.InvalidField("max", "must lie between 1 and %d", parley.MaxLoopIterations)
	}
	if input.Until != nil {
		until := parley.LoopUntil(*input.Until)
		if err := checkUntil(&until); err != nil {
			return loop, err
		}
		loop.Loop.Until = &until
	}
	if loop.Content, err = parley.EncodeContent(parley.UserContent{Text: input.Prompt}); err != nil {
		return loop, err
	}
	loop.First = store.NewMessage{
		ID:       parley.NewID(),
		TurnID:   parley.NewID(),
		Role:     parley.RoleUser,
		Author:   loop.Loop.Author,
		Content:  loop.Content,
		Metadata: json.RawMessage("{}"),
		Title:    parley.TitleFrom(input.Prompt),
	}
	return loop, nil
}

// checkUntil requires exactly one condition, and a valid one. The schema becomes canonical.
func checkUntil(until *parley.LoopUntil) error {
	hasSchema := len(until.Schema) > 0 && string(until.Schema) != "null"
	set := 0
	for _, is := range []bool{until.ToolCalled != "", until.TextMatches != "", hasSchema} {
		if is {
			set++
		}
	}
	if set != 1 {
		return parley.InvalidField("until", "takes exactly one of tool_called, text_matches, schema")
	}
	switch {
	case until.ToolCalled != "":
		if !isToolName(until.ToolCalled) {
			return parley.InvalidField(
				"until.tool_called",
				"%q is not a valid tool name: use 1 to %d letters, digits, _ and -",
				parley.Clip(until.ToolCalled, 64),
				maxToolNameBytes,
			)
		}
	case until.TextMatches != "":
		if err := parley.CheckText("until.text_matches", until.TextMatches, parley.MaxLoopPatternBytes); err != nil {
			return err
		}
		if _, err := schema.Matches(context.Background(), until.TextMatches, ""); err != nil {
			return parley.InvalidField(
				"until.text_matches",
				"is not a valid regular expression: %s",
				parley.Clip(err.Error(), 200),
			)
		}
	default:
		return checkUntilSchema(until)
	}
	return nil
}

func checkUntilSchema(until *parley.LoopUntil) error {
	if len(until.Schema) > parley.MaxLoopSchemaBytes {
		return parley.InvalidField("until.schema", "is longer than %d bytes", parley.MaxLoopSchemaBytes)
	}
	if err := parley.CheckJSON(until.Schema); err != nil {
		return inside("until.schema", err)
	}
	if _, err := schema.Read(until.Schema); err != nil {
		return parley.InvalidField("until.schema", "this JSON Schema cannot be used: %s", parley.Clip(err.Error(), 300))
	}
	canonical, err := parley.CanonicalJSON(until.Schema)
	if err != nil {
		return parley.InvalidField("until.schema", "is not valid JSON")
	}
	until.Schema = canonical
	return nil
}

// StopLoop ends a running loop, as store.Loops.StopLoop says; with Now it also cancels the running iteration.
func (e *Engine) StopLoop(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input LoopStopInput,
) (_ parley.Loop, err error) {
	ctx, call, err := e.enter(ctx, principal, "stopLoop", CancelTurns, on(id))
	if err != nil {
		return parley.Loop{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	found, err := e.store.Loop(ctx, scope, id)
	if err != nil {
		return parley.Loop{}, err
	}
	call.about(in(found.SessionID, id))
	loop, err := e.store.StopLoop(ctx, scope, found.SessionID, id)
	if err != nil || !input.Now {
		return loop, err
	}
	_, err = e.Cancel(ctx, principal, loop.SessionID, CancelInput{TurnID: loop.TurnID})
	if code := parley.ErrorCode(
		err,
	); code == parley.CodeConflict ||
		code == parley.CodeNothingToCancel { // it ended by itself
		err = nil
	}
	return loop, err
}

// Loop reads a loop.
func (e *Engine) Loop(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Loop, err error) {
	ctx, call, err := e.enter(ctx, principal, "getLoop", ReadSessions, on(id))
	if err != nil {
		return parley.Loop{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	loop, err := e.store.Loop(ctx, scope, id)
	if err == nil {
		call.about(in(loop.SessionID, id))
	}
	return loop, err
}

// Loops lists the loops of a session.
func (e *Engine) Loops(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list LoopList,
) (_ Page[parley.Loop], err error) {
	ctx, call, err := e.enter(ctx, principal, "listLoops", ReadSessions, of(sessionID))
	if err != nil {
		return Page[parley.Loop]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("loops", Descending)
	if err != nil {
		return Page[parley.Loop]{}, err
	}
	rows, err := e.store.Loops(
		ctx,
		scope,
		sessionID,
		store.LoopQuery{Ascending: order == Ascending, AfterID: from.ID, Limit: limit + 1},
	)
	if err != nil {
		return Page[parley.Loop]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Loop) cursor {
		return cursor{List: "loops", Order: order, ID: last.ID}
	}), nil
}
