package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// ReplayInput says how a recorded request is sent again; absent fields stay as recorded.
type ReplayInput struct {
	Model parley.ModelID `json:"model,omitempty" doc:"provider/model; the call's own by default."`
	parley.Parameters
}

// ReplayResult is the outcome of a replay, beside the call that it repeats.
type ReplayResult struct {
	Call       parley.Call         `json:"call" doc:"The replay: a call of purpose replay."`
	Answer     parley.ReplayAnswer `json:"answer"`
	Original   parley.Call         `json:"original"`
	SameBytes  bool                `json:"same_bytes" doc:"Whether the request was the same, byte for byte."`
	OldAnswer  parley.ReplayAnswer `json:"original_answer" doc:"The answer to the original call."`
	SameAnswer bool                `json:"same_answer" doc:"Whether both answers have the same text and the same tool calls."`
}

// ReplayPiece is a live piece of a replay's answer.
type ReplayPiece struct {
	Kind  parley.ContentKind `json:"kind" enum:"text,reasoning,arguments"`
	Delta string             `json:"delta"`
}

// replayTime bounds one replay.
const replayTime = 10 * time.Minute

// answerFor is the assumed length of an unbounded answer, in tokens.
const answerFor = 4096

// Replay sends the request of a call again, to the same model or another one, with the given parameters replaced. Its
// answer enters no conversation: it is stored with the replay's own call, and counts towards the session and its
// budgets. No tool runs. tell receives the answer while it arrives; nil: nobody does. A model's failure is not an
// error: the result's call has it. The end of ctx ends the replay; the partial answer is kept.
func (e *Engine) Replay(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input ReplayInput,
	tell func(ReplayPiece) error,
) (_ ReplayResult, err error) {
	ctx, call, err := e.enter(ctx, principal, "replayCall", PostMessages, on(id))
	if err != nil {
		return ReplayResult{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	leave, err := e.rehearsals.enter(principal)
	if err != nil {
		return ReplayResult{}, err
	}
	defer leave()
	ctx, done := e.reads(ctx, scope)
	defer done()
	if err := setting.CheckParameters(input.Parameters); err != nil {
		return ReplayResult{}, err
	}
	original, err := e.store.Call(ctx, scope, id)
	if err != nil {
		return ReplayResult{}, err
	}
	call.about(in(original.SessionID, id))
	r, err := e.prepareReplay(ctx, scope, original, input)
	if err != nil {
		return ReplayResult{}, err
	}
	if err := e.affordReplay(ctx, scope, r); err != nil {
		return ReplayResult{}, err
	}
	old, err := e.answerOf(ctx, scope, &original) // first: an answer is not paid for and then refused for want of room
	if err != nil {
		return ReplayResult{}, err
	}
	timed, stop := context.WithTimeout(ctx, replayTime)
	defer stop()
	r.run(timed, tell)
	settled := &r.row.Settled
	settled.Cost, settled.Saved = r.info.Price.Cost(settled.Usage), r.info.Price.Saved(settled.Usage)
	settled.EstimateFrom(r.row.Call.Expected, r.answer.tokens())
	kept := context.WithoutCancel(ctx) // the answer is paid for, even if the caller has left
	if err := e.store.RecordReplay(kept, scope, r.row); err != nil {
		return ReplayResult{}, err
	}
	result := ReplayResult{
		Original:  original,
		Answer:    r.row.Answer,
		OldAnswer: old,
		SameBytes: r.row.Call.RequestHash == original.RequestHash,
	}
	if result.Call, err = e.store.Call(kept, scope, r.row.Call.ID); err != nil {
		return ReplayResult{}, err
	}
	result.SameAnswer = sameAnswer(&result.Answer, &result.OldAnswer)
	return result, nil
}

// replay is a replay under way.
type replay struct {
	row     store.NewReplay
	model   model.Model
	info    model.Info
	encoded model.EncodedRequest
	filter  model.AnswerFilter
	answer  repeated
}

// repeated is an answer as it arrives.
type repeated struct {
	text, reasoning, refusal strings.Builder
	calls                    []*repeatedCall
	byBlock                  map[int]*repeatedCall
}

type repeatedCall struct {
	name      string
	arguments strings.Builder
}

// tokens estimates how many tokens have arrived.
func (r *repeated) tokens() int64 {
	n := parley.EstimateTokens(r.text.String()) + parley.EstimateTokens(r.reasoning.String()) +
		parley.EstimateTokens(r.refusal.String())
	for _, call := range r.calls {
		n += parley.EstimateTokens(call.arguments.String())
	}
	return int64(n)
}

// whole returns the answer in the form in which it is stored.
func (r *repeated) whole() parley.ReplayAnswer {
	answer := parley.ReplayAnswer{
		Text: r.text.String(), Reasoning: r.reasoning.String(), Refusal: r.refusal.String(),
		ToolCalls: make([]parley.ToolCallContent, len(r.calls)),
	}
	for i, call := range r.calls {
		one := parley.ToolCallContent{
			ID:        fmt.Sprintf("call_%d", i+1),
			Name:      call.name,
			Arguments: json.RawMessage("null"),
		}
		if one.ArgumentsText = call.arguments.String(); json.Valid([]byte(one.ArgumentsText)) {
			one.Arguments, one.ArgumentsText = json.RawMessage(one.ArgumentsText), ""
		}
		answer.ToolCalls[i] = one
	}
	return answer
}

// prepareReplay rebuilds a call's request with other settings.
func (e *Engine) prepareReplay(
	ctx context.Context,
	scope store.Scope,
	original parley.Call,
	input ReplayInput,
) (*replay, error) {
	call := original
	call.ID = parley.NewID()
	call.Parameters = setting.Over(
		parley.Settings{Parameters: input.Parameters},
		parley.Settings{Parameters: original.Parameters},
	).Parameters
	if input.Model != "" && input.Model != original.Model {
		if call.Model = input.Model; call.Model.Provider() != original.Model.Provider() {
			call.EncoderVersion, call.Manifest.CacheKey, call.Manifest.CacheTTL = 0, "", ""
		}
	}
	r := &replay{}
	var err error
	if r.model, r.info, err = e.models.Resolve(call.Model); err != nil {
		return nil, err
	}
	if !r.info.CacheHour {
		call.Manifest.CacheTTL = ""
	}
	r.info.Price = r.info.Price.Keeping(call.Manifest.CacheTTL)
	call.Provider = call.Model.Provider()
	system, err := e.callText(ctx, scope, call.SystemHash)
	if err != nil {
		return nil, err
	}
	tools, err := e.callText(ctx, scope, call.ToolsHash)
	if err != nil {
		return nil, err
	}
	layersText, err := e.callText(ctx, scope, call.MiddlewareHash)
	if err != nil {
		return nil, err
	}
	layers, err := prompt.RebuildLayers(call.Manifest.Middleware, layersText, e.middleware)
	if err != nil {
		return nil, err
	}
	instruction, err := e.callText(ctx, scope, call.InstructionHash)
	if err != nil {
		return nil, err
	}
	definitions, err := prompt.DecodeTools(tools)
	if err != nil {
		return nil, err
	}
	messages, err := e.manifestMessages(ctx, scope, original)
	if err != nil {
		return nil, err
	}
	files := attachments{engine: e, ctx: ctx, workspaceID: call.WorkspaceID, vision: r.info.Sees()}
	request, err := prompt.Rebuild(call, layers.Edges(ctx), string(system), definitions, messages, files.of)
	if err == nil {
		request = prompt.Instructed(request, string(instruction))
		r.encoded, r.filter, err = encodeAgain(ctx, layers, &call, r.model, &request)
		r.filter = prompt.AnswersByTool(prompt.OutputToolOf(definitions), r.filter)
	}
	if err != nil {
		return nil, errors.Join(files.err, err)
	}
	call.RequestHash, call.EncoderVersion = parley.HashOf(r.encoded.Body), r.encoded.Version
	call.Attempt, call.Usage, call.Cost, call.Reserved, call.Error, call.Finish = 1, parley.Usage{}, nil, nil, nil, ""
	r.row = store.NewReplay{
		Call:    call,
		System:  string(system),
		Tools:   tools,
		Layers:  layersText,
		OfID:    original.ID,
		Settled: store.CallSettled{CallID: call.ID},

		Instruction: string(instruction),
	}
	return r, nil
}

// affordReplay refuses a replay that exceeds a budget of its session or agent, and notes what to charge it to.
func (e *Engine) affordReplay(ctx context.Context, scope store.Scope, r *replay) error {
	session, err := e.store.Session(ctx, scope, r.row.Call.SessionID)
	if err != nil {
		return err
	}
	output := int64(answerFor)
	switch {
	case r.row.Call.MaxTokens != nil:
		output = int64(*r.row.Call.MaxTokens)
	case r.info.MaxOutput > 0:
		output = int64(r.info.MaxOutput)
	}
	input := int64(prompt.EstimateTokens(string(r.encoded.Body)))
	r.row.Estimate = parley.Reserved{Tokens: input + output, Cost: r.info.Price.Most(input, output)}
	r.row.Call.Expected = r.info.Price.Expected(input)
	subjects := []store.BudgetSubject{
		{ID: session.ID, Scope: parley.BudgetOfSession},
		{ID: session.AgentID, Scope: parley.BudgetOfAgent},
	}
	if !session.RootID.IsZero() && session.RootID != session.ID {
		subjects = append(subjects, store.BudgetSubject{ID: session.RootID, Scope: parley.BudgetOfSession})
	}
	budgets, err := e.store.Budgets(ctx, scope.WorkspaceID, subjects)
	if err != nil {
		return err
	}
	for i := range budgets {
		b := &budgets[i]
		l := b.Limits
		if b.Scope == parley.BudgetOfSession && b.ID == session.ID && !b.Made {
			b.Tokens, b.Cost = session.Statistics.InputTokens+session.Statistics.OutputTokens, session.Statistics.Cost
		}
		charge := store.Charge{DailyTokens: l.DailyTokens, DailyCost: l.DailyCost}
		if b.Scope == parley.BudgetOfSession {
			charge.Tokens, charge.Cost = l.SessionTokens, l.SessionCost
		}
		if l.Priced() && r.row.Estimate.Cost == nil {
			return parley.Conflict(
				parley.WaitBudget,
				"Money is limited here and the price of %q is not known. Give its price under models in parley.yaml, "+
					"or replay with another model.",
				r.row.Call.Model,
			)
		}
		if !charge.Fits(b, r.row.Estimate) {
			return parley.Conflict(
				parley.WaitBudget,
				"A replay may need up to %d tokens, for which the %s's limits have no room. Raise them, or give a "+
					"smaller max_tokens.",
				r.row.Estimate.Tokens,
				b.Scope,
			)
		}
		if b.Made {
			r.row.Charged = append(r.row.Charged, b.ID)
		}
	}
	charged := r.row.Charged
	sort.Slice(charged, func(i, j int) bool { return charged[i].String() < charged[j].String() })
	return nil
}

// run sends the request and collects the answer.
func (r *replay) run(ctx context.Context, tell func(ReplayPiece) error) {
	started := time.Now()
	settled := &r.row.Settled
	chunks := r.model.Stream(ctx, r.encoded)
	if r.filter != nil {
		chunks = r.filter(chunks)
	}
	var broken error
	size := 0
	for chunk, err := range chunks {
		if err != nil {
			broken = err
			break
		}
		if settled.FirstTokenMS == nil {
			settled.FirstTokenMS = new(time.Since(started).Milliseconds())
		}
		if size += len(chunk.Text); size > parley.MaxAnswerBytes {
			broken = model.NewError(parley.ClassModel, false, "the answer is longer than this server accepts", nil)
			break
		}
		piece := r.take(&chunk)
		if piece.Delta == "" || tell == nil {
			continue
		}
		if broken = tell(piece); broken != nil {
			break
		}
	}
	settled.TotalMS = new(time.Since(started).Milliseconds())
	r.row.Answer = r.answer.whole()
	r.judge(ctx, broken)
}

// take adds a chunk, and returns the piece to show.
func (r *replay) take(chunk *model.Chunk) ReplayPiece {
	answer, text := &r.answer, strings.ReplaceAll(chunk.Text, "\x00", "\uFFFD") // neither database stores NUL
	switch chunk.Kind {
	case model.ChunkText:
		answer.text.WriteString(text)
		return ReplayPiece{parley.KindText, text}
	case model.ChunkReasoning:
		answer.reasoning.WriteString(text)
		return ReplayPiece{parley.KindReasoning, text}
	case model.ChunkRefusal:
		answer.refusal.WriteString(text)
	case model.ChunkToolCall:
		call := &repeatedCall{name: parley.Clip(chunk.Name, parley.MaxNameBytes-4)}
		if answer.calls = append(answer.calls, call); answer.byBlock == nil {
			answer.byBlock = map[int]*repeatedCall{}
		}
		answer.byBlock[chunk.Block] = call
	case model.ChunkArguments:
		if call := answer.byBlock[chunk.Block]; call != nil {
			call.arguments.WriteString(text)
			return ReplayPiece{parley.KindArguments, text}
		}
	case model.ChunkUsage:
		r.row.Settled.Usage = chunk.Usage
	case model.ChunkFinish:
		r.row.Settled.Finish = chunk.Finish
	}
	return ReplayPiece{}
}

// judge says how the replay ended.
func (r *replay) judge(ctx context.Context, broken error) {
	settled := &r.row.Settled
	var failed *model.Error
	switch {
	case broken == nil && settled.Finish != "":
		settled.Outcome = parley.CallCompleted
	case ctx.Err() != nil || broken != nil && !errors.As(broken, &failed):
		settled.Outcome = parley.CallCancelled
	default:
		if failed == nil {
			failed = model.NewError(
				parley.ClassStream,
				true,
				"the stream ended before the answer was complete",
				nil,
			)
		}
		settled.Outcome = parley.CallFailed
		settled.Error = &parley.Failure{
			Class:    failed.Class,
			Sentence: failed.Class.Sentence(),
			Detail:   failed.Message,
			Attempts: 1,
		}
	}
}

// answerOf returns the answer to a recorded call: its messages, or the stored answer of a replay.
func (e *Engine) answerOf(ctx context.Context, scope store.Scope, call *parley.Call) (parley.ReplayAnswer, error) {
	answer := parley.ReplayAnswer{ToolCalls: []parley.ToolCallContent{}}
	if call.Purpose == parley.PurposeReplay {
		replays, err := e.store.Replays(ctx, scope, call.ID)
		for i := range replays {
			if replays[i].CallID == call.ID {
				answer = replays[i].Answer
			}
		}
		return answer, err
	}
	if call.TurnID.IsZero() {
		return answer, nil
	}
	query := store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant, parley.RoleToolCall}, TurnID: call.TurnID, RecordOnly: true,
		Limit: parley.MaxPage, MaxBytes: readingPage,
	}
	var text, reasoning, refusal strings.Builder
	for {
		page, err := e.store.Messages(ctx, scope, call.SessionID, query)
		if err != nil {
			return parley.ReplayAnswer{}, err
		}
		for i := range page {
			m := &page[i]
			if m.Step != call.Step {
				continue
			}
			if err := countRead(ctx, m.Size()); err != nil {
				return parley.ReplayAnswer{}, err
			}
			if m.Role == parley.RoleToolCall {
				var asked parley.ToolCallContent
				if json.Unmarshal(m.Content, &asked) == nil {
					answer.ToolCalls = append(answer.ToolCalls, asked)
				}
				continue
			}
			var said parley.AssistantContent
			if json.Unmarshal(m.Content, &said) == nil {
				text.WriteString(said.Text)
				reasoning.WriteString(said.Reasoning)
				refusal.WriteString(said.Refusal)
			}
		}
		if len(page) == 0 || page[len(page)-1].Step > call.Step {
			answer.Text, answer.Reasoning, answer.Refusal = text.String(), reasoning.String(), refusal.String()
			return answer, nil
		}
		query.AfterSequence = page[len(page)-1].Sequence
	}
}

// sameAnswer compares what two answers say, ignoring the ids of their calls.
func sameAnswer(a, b *parley.ReplayAnswer) bool {
	return a.Text == b.Text && a.Refusal == b.Refusal &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y parley.ToolCallContent) bool {
			one, err := parley.CanonicalJSON(x.Arguments)
			other, also := parley.CanonicalJSON(y.Arguments)
			return x.Name == y.Name &&
				(err == nil && also == nil && string(one) == string(other) ||
					string(x.Arguments) == string(y.Arguments))
		})
}
