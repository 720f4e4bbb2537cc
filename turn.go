package parley

import "strconv"

// TurnStatus is the state of one run of an agent. Only this file defines its legal moves:
//
//	queued ──claim──▶ running ──park──▶ waiting ──answer──▶ queued
//	   │                 │ ▲               │
//	   │                 │ └──release/takeover to queued
//	   ▼                 ▼                 ▼
//	cancelled   completed│failed│cancelled   cancelled│failed│completed (deliver)
//
// A turn that is answered or taken over is queued again: it remains the first unfinished turn of its session, and its
// attempt counts up at the next claim.
//
// The turn of an outside agent (WaitOutside) begins as waiting, never has a worker, and ends by deliver, fail or
// cancel.
type TurnStatus string

// The turn states.
const (
	TurnQueued    TurnStatus = "queued"
	TurnRunning   TurnStatus = "running"
	TurnWaiting   TurnStatus = "waiting"
	TurnCompleted TurnStatus = "completed"
	TurnFailed    TurnStatus = "failed"
	TurnCancelled TurnStatus = "cancelled"
)

// TurnMove is a move of the turn's state machine.
type TurnMove string

// The moves, each made by one store transition.
const (
	MoveClaim   TurnMove = "claim"   // a worker takes it
	MoveRelease TurnMove = "release" // its worker gives it back, or another takes over an expired lease
	MovePark    TurnMove = "park"    // it waits for something outside
	MoveAnswer  TurnMove = "answer"  // the awaited thing has arrived
	MoveFinish  TurnMove = "finish"  // completed
	MoveDeliver TurnMove = "deliver" // completed by the outside agent that the turn waits for
	MoveFail    TurnMove = "fail"
	MoveCancel  TurnMove = "cancel"
)

// Finished reports whether the turn can never run again.
func (s TurnStatus) Finished() bool {
	return s == TurnCompleted || s == TurnFailed || s == TurnCancelled
}

// After returns the state that a move leads to, or CodeConflict if the move is illegal here.
func (s TurnStatus) After(move TurnMove) (TurnStatus, error) {
	switch {
	case s == TurnQueued && move == MoveClaim:
		return TurnRunning, nil
	case s == TurnRunning && move == MoveRelease:
		return TurnQueued, nil
	case s == TurnRunning && move == MovePark:
		return TurnWaiting, nil
	case s == TurnWaiting && move == MoveAnswer:
		return TurnQueued, nil
	case s == TurnRunning && move == MoveFinish, s == TurnWaiting && move == MoveDeliver:
		return TurnCompleted, nil
	case !s.Finished() && move == MoveFail:
		return TurnFailed, nil
	case !s.Finished() && move == MoveCancel:
		return TurnCancelled, nil
	}
	return s, Errorf(CodeConflict, "a %s turn cannot %s", s, move)
}

// WaitReason is what a waiting turn waits for.
type WaitReason string

// The reasons.
const (
	WaitApproval   WaitReason = "approval"
	WaitToolResult WaitReason = "tool_result"
	WaitInput      WaitReason = "input"
	WaitChild      WaitReason = "child"
	WaitBudget     WaitReason = "budget"
	WaitRateLimit  WaitReason = "rate_limit"
	WaitOutside    WaitReason = "outside" // an outside agent streams its message
)

// WaitReasons lists every reason.
func WaitReasons() []WaitReason {
	return []WaitReason{WaitApproval, WaitToolResult, WaitInput, WaitChild, WaitBudget, WaitRateLimit, WaitOutside}
}

// Answered reports whether the reason is a call answered from outside, so that an answer may resume the turn.
func (r WaitReason) Answered() bool {
	return r == WaitApproval || r == WaitInput || r == WaitToolResult || r == WaitChild
}

// Turn is one run of the agent, from its trigger message until it stops.
type Turn struct {
	ID               ID `json:"id"`
	WorkspaceID      ID `json:"workspace_id"`
	SessionID        ID `json:"session_id"`
	TriggerMessageID ID `json:"trigger_message_id"`
	// the turn of the same message that this one resumes: a retry, or a continuation after a limit
	ContinuesID ID `json:"continues_id"`
	// its number in the session, from 1: orders turns, since ids come from clocks
	Ordinal    int64      `json:"-"`
	Status     TurnStatus `json:"status"`
	WaitReason WaitReason `json:"wait_reason,omitempty"`
	Attempt    int        `json:"attempt"`   // claims so far
	Takeovers  int        `json:"takeovers"` // expired leases taken over since a step last settled
	CaughtBy   ID         `json:"-"`         // the first process that died running it since then
	// the process that died with it as its sole suspect, until that is judged; kept if it is guilty
	AccusedBy    ID       `json:"-"`
	Step         int      `json:"step"`          // the last step begun, from 1; 0 before the first
	AgentID      ID       `json:"agent_id"`      // fixed at the first claim
	AgentVersion int      `json:"agent_version"` // fixed at the first claim, kept through resumes; 0 before
	LoopID       ID       `json:"loop_id"`
	Iteration    int      `json:"iteration,omitempty"`
	Error        *Failure `json:"error"`
	Usage        Tokens   `json:"usage"`
	Cost         *Money   `json:"cost"` // null while unknown
	CreatedAt    Time     `json:"created_at"`
	StartedAt    Time     `json:"started_at"`
	FinishedAt   Time     `json:"finished_at"`

	// TransformID is the transform whose outputs the turn writes; zero for others.
	TransformID ID            `json:"-"`
	Cancelled   *Cancellation `json:"-"` // what its cancel settled; nil until there was one
	// Urgent: a person waits for this turn of an agent's background session, so it runs at foreground priority.
	Urgent bool `json:"-"`
}

// Mode returns the priority at which the turn runs, in a session of a mode.
func (t *Turn) Mode(session Mode) Mode {
	if t.Urgent {
		return ModeForeground
	}
	return session
}

// CancelledBy says who settled a cancelled turn.
type CancelledBy string

// The worker that ran it, or the cancel itself.
const (
	ByHolder    CancelledBy = "holder"
	ByCanceller CancelledBy = "canceller"
)

// Cancellation is what a cancel of a turn settled, as the record keeps it with the turn.
type Cancellation struct {
	By       CancelledBy `json:"by"`
	Settled  []ID        `json:"settled,omitempty"`  // interrupted messages, and the results of open calls
	Removed  []ID        `json:"removed,omitempty"`  // messages taken from the queue
	Turns    []ID        `json:"turns,omitempty"`    // the queued turns that were cancelled with it
	Children []ID        `json:"children,omitempty"` // tool sessions that are stopped
	With     ID          `json:"with,omitzero"`      // the turn whose cancel took this one from the queue
}

// MarshalJSON writes null for absent fields. It is written by hand because each turn's last event has the turn.
func (t Turn) MarshalJSON() ([]byte, error) {
	const size = 896 // of a turn without an error
	out := make([]byte, 0, size)
	member := func(name string) { out = append(append(append(out, ',', '"'), name...), '"', ':') }
	id := func(name string, value ID) {
		member(name)
		out = value.AppendJSON(out)
	}
	number := func(name string, value int64) {
		member(name)
		out = strconv.AppendInt(out, value, 10)
	}
	id("id", t.ID)
	id("workspace_id", t.WorkspaceID)
	id("session_id", t.SessionID)
	id("trigger_message_id", t.TriggerMessageID)
	id("continues_id", t.ContinuesID)
	member("status")
	out = AppendJSONString(out, string(t.Status))
	number("attempt", int64(t.Attempt))
	number("takeovers", int64(t.Takeovers))
	number("step", int64(t.Step))
	id("agent_id", t.AgentID)
	number("agent_version", int64(t.AgentVersion))
	id("loop_id", t.LoopID)
	member("error")
	if t.Error == nil {
		out = append(out, "null"...)
	} else {
		failure, err := t.Error.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(out, failure...)
	}
	member("usage")
	out = strconv.AppendInt(append(out, `{"input_tokens":`...), t.Usage.InputTokens, 10)
	out = strconv.AppendInt(append(out, `,"output_tokens":`...), t.Usage.OutputTokens, 10)
	out = strconv.AppendInt(append(out, `,"cached_tokens":`...), t.Usage.CachedTokens, 10)
	out = strconv.AppendInt(append(out, `,"unknown_calls":`...), t.Usage.Unknown, 10)
	out = append(out, '}')
	member("cost")
	if t.Cost == nil {
		out = append(out, "null"...)
	} else {
		out = append(out, t.Cost.String()...)
	}
	member("created_at")
	out = t.CreatedAt.AppendJSON(out)
	member("started_at")
	out = t.StartedAt.AppendJSON(out)
	member("finished_at")
	out = t.FinishedAt.AppendJSON(out)
	member("wait_reason")
	if t.WaitReason == "" {
		out = append(out, "null"...)
	} else {
		out = AppendJSONString(out, string(t.WaitReason))
	}
	member("iteration")
	if t.Iteration == 0 {
		out = append(out, "null"...)
	} else {
		out = strconv.AppendInt(out, int64(t.Iteration), 10)
	}
	out[0] = '{' // instead of the first comma
	return append(out, '}'), nil
}

// Suspicion is how strongly a turn is suspected of killing the processes that run it.
type Suspicion int

// The suspicions, by the deaths during a turn since it last settled a step. A process runs at most MaxSuspects
// suspected turns at once, and one that was caught twice only while it runs no other suspect.
const (
	Unsuspected Suspicion = iota
	Suspected             // caught once
	CaughtTwice           // caught twice or more, and not found guilty
	// Accused: its process died with it as the sole suspect; the verdict waits for the turns that ran beside it
	Accused
)

// Suspicion returns the suspicion of an unfinished turn.
func (t *Turn) Suspicion() Suspicion {
	if !t.AccusedBy.IsZero() {
		return Accused
	}
	return min(Suspicion(t.Takeovers), CaughtTwice)
}

// Outside reports whether the turn belongs to an outside agent: it has a step, but no worker ever had it.
func (t *Turn) Outside() bool { return t.Attempt == 0 && t.Step > 0 }

// Failure is an error as the record stores it: for turns, calls and messages.
type Failure struct {
	Class    ErrorClass `json:"class"`
	Sentence string     `json:"sentence"`           // for people
	Detail   string     `json:"detail,omitempty"`   // what the provider said, redacted
	Attempts int        `json:"attempts,omitempty"` // model attempts made, the first included
	RetryAt  Time       `json:"retry_at"`           // when to try again, according to the provider
}

// MarshalJSON writes null for absent fields.
func (f Failure) MarshalJSON() ([]byte, error) {
	type plain Failure
	return EncodeJSON(struct {
		*plain
		Detail   *string `json:"detail"`
		Attempts *int    `json:"attempts"`
	}{(*plain)(&f), OrNull(f.Detail), OrNull(f.Attempts)})
}

// Tokens are sums over calls; calls with unknown usage add nothing but are counted.
type Tokens struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CachedTokens int64 `json:"cached_tokens"`
	Unknown      int64 `json:"unknown_calls"` // calls without usage from the provider
}

// Add adds one call's usage.
func (t *Tokens) Add(u Usage) {
	if u.InputTokens == nil && u.OutputTokens == nil {
		t.Unknown++
	}
	if u.InputTokens != nil {
		t.InputTokens += *u.InputTokens
	}
	if u.OutputTokens != nil {
		t.OutputTokens += *u.OutputTokens
	}
	if u.CachedTokens != nil {
		t.CachedTokens += *u.CachedTokens
	}
}

// CallOutcome is how an attempt at a model request ended; CallOpen while it runs.
type CallOutcome string

// The outcomes.
const (
	CallOpen        CallOutcome = "open"
	CallCompleted   CallOutcome = "completed"
	CallFailed      CallOutcome = "failed"
	CallCancelled   CallOutcome = "cancelled"
	CallInterrupted CallOutcome = "interrupted" // process died or lost its claim
)

// CallPurpose is a call's purpose if it is not a turn's step.
type CallPurpose string

// The purposes. Only a turn's step has a turn and a message; drawing knowledge is one too.
const (
	PurposeStep       CallPurpose = ""           // a turn's step (JSON null)
	PurposeCompaction CallPurpose = "compaction" // it writes a summary
	PurposeReplay     CallPurpose = "replay"     // a recorded request again, to compare
	PurposeWarm       CallPurpose = "warm"       // it fills a cache
	PurposeKnowledge  CallPurpose = "knowledge"  // it draws knowledge from background work
)

// Call is the record of one attempt at one model request.
type Call struct {
	ID          ID          `json:"id"`
	WorkspaceID ID          `json:"workspace_id"`
	SessionID   ID          `json:"session_id"`
	Purpose     CallPurpose `json:"purpose,omitempty"`
	TurnID      ID          `json:"turn_id"`    // for a turn's step
	MessageID   ID          `json:"message_id"` // the step's first assistant message
	// event sequence of its step.started: orders the calls of a session
	Ordinal    int64   `json:"-"`
	Step       int     `json:"step"`
	Attempt    int     `json:"attempt"` // of this step, from 1
	Provider   string  `json:"provider"`
	Model      ModelID `json:"model"`
	Parameters         // all effective parameters, flat
	Think      bool    `json:"think"`
	Search     bool    `json:"search"`
	SystemHash Hash    `json:"system_hash"` // of the system prompt's text, kept once
	ToolsHash  Hash    `json:"tools_hash"`  // of the canonical JSON of the tool definitions, kept once
	// of what its middleware needs to repeat it, kept once; it may hold secrets
	MiddlewareHash Hash `json:"-"`
	// of the instruction that a request for a summary appends to the conversation's latest request, kept once
	InstructionHash Hash      `json:"-"`
	Manifest        Manifest  `json:"manifest"`
	RequestHash     Hash      `json:"request_hash"` // SHA-256 of the bytes sent
	EncoderVersion  int       `json:"encoder_version"`
	Usage           Usage     `json:"usage"`
	Cost            *Money    `json:"cost"`
	Cache           CallCache `json:"cache"`
	// the most that it could use, if a limit on tokens or money applied
	Reserved *Reserved `json:"reserved"`
	// the provider did not say what the call used: cost is an estimate
	Estimated bool `json:"estimated"`
	// that estimate's tokens; null for calls from before there were any: for those, what was reserved counts
	Estimate *CallEstimate `json:"estimate"`
	Expected Expected      `json:"-"` // for the estimate
	// the provider counted so few tokens that it must have left some of the request out without a word; null otherwise
	Truncated    *Truncation  `json:"truncated"`
	Finish       FinishReason `json:"finish_reason,omitempty"`
	Outcome      CallOutcome  `json:"outcome"`
	Error        *Failure     `json:"error"`
	CreatedAt    Time         `json:"created_at"`
	FirstTokenMS *int64       `json:"first_token_ms"`
	TotalMS      *int64       `json:"total_ms"`
}

// MarshalJSON writes null for absent fields, in the manifest's ranges too: the record, where their size is bounded,
// leaves those out.
func (c Call) MarshalJSON() ([]byte, error) {
	type plain Call
	type whole struct {
		From   int64   `json:"from"`
		To     int64   `json:"to"`
		Except []int64 `json:"except"`
		Reason string  `json:"reason"`
		Gap    bool    `json:"gap"`
	}
	type manifest struct {
		Policy         string        `json:"policy"`
		Ranges         []whole       `json:"ranges"`
		Turn           *TurnCut      `json:"turn"`
		Stubs          *Stubs        `json:"stubs"`
		Bounds         *TextBounds   `json:"bounds"`
		Middleware     []string      `json:"middleware"`
		CacheKey       *string       `json:"cache_key"`
		CacheTTL       *CacheTTL     `json:"cache_ttl"`
		CachedResponse bool          `json:"cached_response"`
		Dropped        *Dropped      `json:"dropped"`
		Offered        *OfferedTools `json:"offered"`
		Rejected       *Rejected     `json:"rejected"`
		KnowledgeID    ID            `json:"knowledge_id"`
		KnowledgeBlock *int          `json:"knowledge_block"`
	}
	shown := manifest{
		Policy:         c.Manifest.Policy,
		Ranges:         make([]whole, len(c.Manifest.Ranges)),
		Turn:           c.Manifest.Turn,
		Stubs:          c.Manifest.Stubs,
		Bounds:         c.Manifest.Bounds,
		Middleware:     c.Manifest.Middleware,
		CacheKey:       OrNull(c.Manifest.CacheKey),
		CacheTTL:       OrNull(c.Manifest.CacheTTL),
		CachedResponse: c.Manifest.CachedResponse,
		Dropped:        c.Manifest.Dropped,
		Offered:        c.Manifest.Offered,
		Rejected:       c.Manifest.Rejected,
		KnowledgeID:    c.Manifest.KnowledgeID,
		KnowledgeBlock: OrNull(c.Manifest.KnowledgeBlock),
	}
	if shown.Middleware == nil {
		shown.Middleware = []string{}
	}
	for i, r := range c.Manifest.Ranges {
		shown.Ranges[i] = whole(r)
	}
	return EncodeJSON(struct {
		*plain
		Purpose  *CallPurpose  `json:"purpose"`
		Manifest manifest      `json:"manifest"`
		Finish   *FinishReason `json:"finish_reason"`
	}{(*plain)(&c), OrNull(c.Purpose), shown, OrNull(c.Finish)})
}

// CallCache says what the provider's cache contributed to a call; null where the provider did not say.
type CallCache struct {
	Hit           *bool  `json:"hit"`            // some of the request was read from the cache
	CachedTokens  *int64 `json:"cached_tokens"`  // read from it
	WrittenTokens *int64 `json:"written_tokens"` // put into it
	Saved         *Money `json:"saved"`          // US dollars, see Price.Saved
}

// CacheOf returns what a call's usage says about the provider's cache, with the money saved.
func CacheOf(usage Usage, saved *Money) CallCache {
	cache := CallCache{CachedTokens: usage.CachedTokens, WrittenTokens: usage.CacheWriteTokens, Saved: saved}
	if usage.CachedTokens != nil {
		hit := *usage.CachedTokens > 0
		cache.Hit = &hit
	}
	return cache
}

// Manifest says which messages of the record a call was shown, and why: at
// most MaxManifestBytes of JSON.
type Manifest struct {
	Policy string          `json:"policy"`
	Ranges []ManifestRange `json:"ranges"`
	// Turn is set if the running turn is not shown whole.
	Turn *TurnCut `json:"turn,omitempty"`
	// Stubs are set if results of older turns are shown by their size alone.
	Stubs *Stubs `json:"stubs,omitempty"`
	// Bounds are set if a text was shown in part; null if all were shown whole.
	Bounds *TextBounds `json:"bounds,omitempty"`
	// Middleware names the request's middleware, in order.
	Middleware []string `json:"middleware,omitempty"`
	// CacheKey is the request's cache key, see model.Request.
	CacheKey string `json:"cache_key,omitempty"`
	// CacheTTL is how long the provider was asked to cache the request; "" where it offers no choice.
	CacheTTL CacheTTL `json:"cache_ttl,omitempty"`
	// CachedResponse says that the answer was cached from an equal request: nothing was sent.
	CachedResponse bool `json:"cached_response,omitempty"`
	// Dropped are the messages that were left out for length; nil if none were. The request says so in their place.
	Dropped *Dropped `json:"dropped,omitempty"`
	// Offered are tools that the request shows beside the agent's own; nil if there are none.
	Offered *OfferedTools `json:"offered,omitempty"`
	// Rejected is set if the request asks again because the answer before did not satisfy the schema.
	Rejected *Rejected `json:"rejected,omitempty"`
	// KnowledgeID is the block of knowledge behind the system prompt, see KnowledgeBlock; zero: there is none.
	KnowledgeID ID `json:"knowledge_id,omitzero"`
	// KnowledgeBlock is that block's number, from 2, or MaxKnowledgeBlock without a block: context notes are shown
	// without news since earlier blocks. 0: all are shown whole.
	KnowledgeBlock int `json:"knowledge_block,omitempty"`
}

// Rejected says why a structured answer was asked for again. The request ends with it.
type Rejected struct {
	Reason string `json:"reason"` // what does not satisfy the schema, at most MaxRejectedBytes
}

// MaxRejectedBytes bounds the reason of a Rejected.
const MaxRejectedBytes = 320

// OfferedTools are the tools for reading the conversation again that a request shows although the agent does not name
// them.
type OfferedTools struct {
	Names  []string `json:"names"`
	Reason string   `json:"reason"`
}

// Truncation says that a provider read less of a request than was sent.
type Truncation struct {
	SentTokens int64 `json:"sent_tokens"` // of the request, by Parley's estimate in the model's own tokens
	ReadTokens int64 `json:"read_tokens"` // by the provider's count, those from its cache included
}

// TextBounds say how long the texts of a request were allowed to be, in estimated tokens. A longer one was shown by its
// beginning and its end; of the results of one step, the largest ones.
type TextBounds struct {
	Text int `json:"text"` // a text that somebody posted, or one result of a tool
	Step int `json:"step"` // the results of one step together
}

// TurnCut says what a request leaves out of the running turn, which has filled the window. Its fields are sequences.
type TurnCut struct {
	From    int64 `json:"from"`            // the turn's first message behind the one that began it
	Stubbed int64 `json:"stubbed_through"` // up to here only the size of results is shown; 0: all results are shown
	Dropped int64 `json:"dropped_through"` // up to here nothing but what people said is shown; 0: all steps are shown
}

// IsZero reports whether nothing is left out.
func (c TurnCut) IsZero() bool { return c == TurnCut{} }

// Stubs say which results of the turns before the running one a request shows by their size alone.
type Stubs struct {
	Through int64   `json:"through"` // those up to this sequence
	Whole   []int64 `json:"whole"`   // of these, the pinned ones, which are shown
}

// ManifestRange is a run of sequences with one reason.
type ManifestRange struct {
	From   int64   `json:"from"`
	To     int64   `json:"to"` // inclusive
	Except []int64 `json:"except,omitempty"`
	Reason string  `json:"reason"`
	// Gap says that the request notes, before this range, that messages are missing.
	Gap bool `json:"gap,omitempty"`
}

// Dropped is a run of messages that no longer fit into a request.
type Dropped struct {
	From   int64  `json:"from"`  // sequence of the first
	To     int64  `json:"to"`    // of the last
	Count  int64  `json:"count"` // how many are not shown; those in between that are shown come before the rest
	Reason string `json:"reason"`
}

// MaxManifestBytes bounds a stored manifest.
const MaxManifestBytes = 4 << 10
