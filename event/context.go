package event

import "example.org/parley"

// ContextDropped reports that messages no longer fit into what the model can read: from this call on they are left out
// of the session's requests, which say so in their place. They stay in the record. Older steps of the running turn are
// reported likewise.
//
//event:durable
type ContextDropped struct {
	TurnID parley.ID      `json:"turn_id"` // the turn whose request is the first without them
	CallID parley.ID      `json:"call_id"` // the record of the model call
	Model  parley.ModelID `json:"model"`   // provider/model that reads the request
	From   int64          `json:"from"`    // sequence of the first message left out
	To     int64          `json:"to"`      // sequence of the last one
	Count  int64          `json:"count"`   // how many; those in between that are still shown do not count
	Reason string         `json:"reason"`  // why, for people
}

// ContextTruncated reports that the provider counted so few tokens of a request that it must have left some of it out
// without a word: less than 80 % of Parley's estimate, which earlier calls of the model have calibrated. The answer was
// given without knowing the rest.
//
//event:durable
type ContextTruncated struct {
	TurnID     parley.ID      `json:"turn_id"`     // the turn whose request it was
	CallID     parley.ID      `json:"call_id"`     // the record of the model call
	Model      parley.ModelID `json:"model"`       // provider/model that read the request
	SentTokens int64          `json:"sent_tokens"` // of the request, by the calibrated estimate
	ReadTokens int64          `json:"read_tokens"` // by the provider's count, those from its cache included
}

// ContextAssumed reports that the model's context length is unknown, so that an assumed one decides what fits. It is
// sent once per session, when the context comes near it.
//
//event:durable
type ContextAssumed struct {
	TurnID        parley.ID      `json:"turn_id"`        // the turn whose request comes near it
	Model         parley.ModelID `json:"model"`          // provider/model of unknown length
	ContextLength int64          `json:"context_length"` // the assumed length, in tokens
}
