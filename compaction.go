package parley

import "encoding/json"

// Compaction writes a summary of a session's older messages (E3): a message of role summary that replaces, in later
// context, everything up to the message that it covers. Nothing is deleted. A session has at most one compaction at a
// time; this is the running one, or the last one.
type Compaction struct {
	ID          ID               `json:"compaction_id"` // null if the session never had one
	WorkspaceID ID               `json:"workspace_id"`
	SessionID   ID               `json:"session_id"`
	State       CompactionState  `json:"state"`
	Reason      CompactionReason `json:"reason,omitempty"`
	// Through is the last sequence that it may cover, as asked for; 0 (JSON null): any but the newest turn's.
	Through int64 `json:"through,omitempty"`
	// Instructions say what this summary must hold besides the usual; "" (JSON null) for none.
	Instructions string `json:"instructions,omitempty"`
	// From says what the summary is written from; "" (JSON null): the earlier summary and the messages since.
	From    CompactionSource `json:"from,omitempty"`
	Attempt int              `json:"attempt"` // begun so far
	// CoversFrom and CoversThrough are the sequences of the first and the last message summarised by the latest
	// attempt; 0 (JSON null) before the first one.
	CoversFrom    int64    `json:"covers_from,omitempty"`
	CoversThrough int64    `json:"covers_through,omitempty"`
	AbsorbsID     ID       `json:"absorbs_id"` // the earlier summary merged into this one
	CallID        ID       `json:"call_id"`    // of the latest attempt
	MessageID     ID       `json:"message_id"` // the summary, once completed
	Error         *Failure `json:"error"`      // of the latest attempt
	NotBefore     Time     `json:"not_before"` // when the next attempt may begin; null: immediately
	// RestsUntil is set on a failed compaction: another one begins by itself only once the record reaches this
	// sequence; 0 (JSON null) otherwise.
	RestsUntil int64 `json:"rests_until,omitempty"`
	CreatedAt  Time  `json:"requested_at"`
	UpdatedAt  Time  `json:"changed_at"`
	FinishedAt Time  `json:"finished_at"`
	// Preview is the answer to a request for a preview, which starts nothing; null otherwise.
	Preview *CompactionPreview `json:"preview"`

	// Awaited: a turn waits, or waited, for it
	Awaited bool  `json:"-"`
	Holder  ID    `json:"-"` // the process running it
	Epoch   int64 `json:"-"` // claims so far: every write of a claim carries its own
}

// MarshalJSON writes null for absent fields.
func (c Compaction) MarshalJSON() ([]byte, error) {
	type plain Compaction
	return EncodeJSON(struct {
		*plain
		Reason        *CompactionReason `json:"reason"`
		Through       *int64            `json:"through"`
		Instructions  *string           `json:"instructions"`
		From          *CompactionSource `json:"from"`
		CoversFrom    *int64            `json:"covers_from"`
		CoversThrough *int64            `json:"covers_through"`
		RestsUntil    *int64            `json:"rests_until"`
	}{
		(*plain)(&c), OrNull(c.Reason), OrNull(c.Through), OrNull(c.Instructions), OrNull(c.From),
		OrNull(c.CoversFrom), OrNull(c.CoversThrough), OrNull(c.RestsUntil),
	})
}

// CompactionPreview is what a compaction would cover, and what its request would cost. The tokens are estimates.
type CompactionPreview struct {
	Messages      int     `json:"messages"`            // that would leave the context
	Parts         int     `json:"parts"`               // requests that it takes, one after another
	Tokens        int64   `json:"tokens"`              // that they and the earlier summary take in it now
	Model         ModelID `json:"model"`               // provider/model that would write the summary
	RequestTokens int64   `json:"request_tokens"`      // of the request for the summary, or of all its parts
	CachedTokens  int64   `json:"cached_tokens"`       // of those, that the provider's cache may hold
	OutputTokens  int64   `json:"output_tokens_most"`  // of the longest possible summary
	Cost          *Money  `json:"cost_most"`           // with an empty cache; null if the price is unknown
	CachedCost    *Money  `json:"cost_most_if_cached"` // the same with a warm cache
	MaxCost       *Money  `json:"max_cost"`            // the limit of the setting compaction; null without one
	Refused       *string `json:"refused"`             // why it would not be begun, in words; null if it would be
}

// CompactionState is the state of a compaction:
//
//	pending ──claim──▶ running ──▶ completed │ failed
//	   ▲                  │
//	   └── another attempt, a release, a takeover
type CompactionState string

// The states. None means that the session never had a compaction.
const (
	CompactionNone    CompactionState = "none"
	CompactionPending CompactionState = "pending"
	CompactionRunning CompactionState = "running"
	// CompactionCompleted: its summary is in the record, or enters it when the running turn ends
	CompactionCompleted CompactionState = "completed"
	CompactionFailed    CompactionState = "failed" // abandoned; nothing has changed
)

// Finished reports whether the state is final.
func (s CompactionState) Finished() bool {
	return s == CompactionNone || s == CompactionCompleted || s == CompactionFailed
}

// CompactionReason is why a compaction began.
type CompactionReason string

// The reasons.
const (
	CompactMessages CompactionReason = "messages" // the context reached its limit of messages
	// CompactTokens: the context reached its limit of tokens, or its share of the model's context
	CompactTokens   CompactionReason = "tokens"
	CompactOverflow CompactionReason = "overflow" // the model refused a request as too long
	// CompactSteps: the running turn fills the window by itself; the summary covers steps of it too
	CompactSteps CompactionReason = "steps"
	CompactAsked CompactionReason = "asked" // somebody asked for it
)

// CompactionSource is what a summary is written from.
type CompactionSource string

// FromOriginals has a summary written from the messages alone, earlier summaries apart.
const FromOriginals CompactionSource = "originals"

// ByItself reports whether the compaction may be postponed after one that failed or was undone: the session's requests
// can do without it.
func (r CompactionReason) ByItself() bool {
	return r == CompactMessages || r == CompactTokens || r == CompactSteps
}

// The bounds of compactions.
const (
	// MaxCompactionAttempts is how often a compaction may begin, takeovers from dead processes included, before it is
	// abandoned.
	MaxCompactionAttempts = 3
	// CompactionRest is how many messages must enter the record, after a compaction failed or its summary was set
	// aside, before another one begins by itself.
	CompactionRest = 20
	// MaxCompactionInstructions bounds CompactionSettings.Instructions, in bytes.
	MaxCompactionInstructions = 16 << 10
	// MaxCompactionParts is the number of requests for which the messages of a summary from originals may be too many.
	MaxCompactionParts = 64
	// MaxSummaryBytes bounds a summary that a person writes.
	MaxSummaryBytes = 256 << 10
)

// CompactionSettings say how summaries are written; zero fields mean the defaults.
type CompactionSettings struct {
	Model        ModelID `json:"model,omitempty" doc:"provider/model that writes summaries; default: the session's own."`
	Instructions string  `json:"instructions,omitempty" doc:"What summaries of these conversations must contain in addition to the usual."`
	MaxCost      *Money  `json:"max_cost,omitempty" minimum:"0" doc:"US dollars for one summary. One that could cost more is not begun."`
}

// MarshalJSON writes null for absent fields.
func (s CompactionSettings) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Model        *ModelID `json:"model"`
		Instructions *string  `json:"instructions"`
		MaxCost      *Money   `json:"max_cost"`
	}{OrNull(s.Model), OrNull(s.Instructions), s.MaxCost})
}

// Validate reports the field that breaks a rule.
func (s CompactionSettings) Validate() error {
	if s.Model != "" {
		if err := s.Model.Validate(); err != nil {
			return InvalidField("compaction.model", "is not provider/model")
		}
	}
	if len(s.Instructions) > MaxCompactionInstructions {
		return InvalidField("compaction.instructions", "is longer than %d bytes", MaxCompactionInstructions)
	}
	if s.MaxCost != nil && *s.MaxCost < 0 {
		return InvalidField("compaction.max_cost", "must not be negative")
	}
	return nil
}

// Over returns s with the gaps filled from the wider scope.
func (s CompactionSettings) Over(wider CompactionSettings) CompactionSettings {
	if s.Model == "" {
		s.Model = wider.Model
	}
	if s.Instructions == "" {
		s.Instructions = wider.Instructions
	}
	if s.MaxCost == nil {
		s.MaxCost = wider.MaxCost
	}
	return s
}

// SummaryOrigin is the metadata of a summary written by a compaction.
type SummaryOrigin struct {
	AbsorbsID    ID    `json:"absorbs_id"`
	CallID       ID    `json:"call_id"`
	CompactionID ID    `json:"compaction_id"`
	CoversFrom   int64 `json:"covers_from"`
	// RevisesID is the summary that a person replaced by this one.
	RevisesID ID `json:"revises_id,omitzero"`
}

// OriginOf reads a summary's metadata; it returns the zero value if no compaction wrote it.
func OriginOf(metadata json.RawMessage) (origin SummaryOrigin) {
	if json.Unmarshal(metadata, &origin) != nil {
		return SummaryOrigin{}
	}
	return origin
}
