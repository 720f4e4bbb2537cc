package model

import "example.org/parley"

// Request is a provider-neutral request, built by prompt and encoded by adapters.
type Request struct {
	Model  parley.ModelID
	System string
	Tools  []parley.ToolDefinition // sorted by name
	// user and assistant turns alternate as in the record; adapters merge where their wire requires it
	Messages   []Message
	Parameters parley.Parameters
	Think      bool // ask for reasoning if the model supports it
	Search     bool // allow the provider's own web search
	// CacheKey requests the provider's prompt cache, if the provider needs a request: requests with the same key share
	// a beginning. "" requests nothing.
	CacheKey string
	// CacheTTL is how long the provider is asked to keep that beginning; "" as long as it does by itself.
	CacheTTL parley.CacheTTL
	// Purpose is for the simulator, which has no other way to know; providers do not get it.
	Purpose parley.CallPurpose
}

// Role is the speaker of a Message.
type Role string

// The request roles. Tool results travel in RoleTool messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a request: its parts in order.
type Message struct {
	Role  Role
	Parts []Part
}

// PartKind says which fields of a Part are set.
type PartKind string

// The kinds of part.
const (
	PartText PartKind = "text" // Text
	// PartReasoning: Text, ProviderData (adapters drop it where their wire cannot accept it back)
	PartReasoning  PartKind = "reasoning"
	PartToolCall   PartKind = "tool_call"   // CallID, Name, Arguments, ProviderData
	PartToolResult PartKind = "tool_result" // CallID, Name, Text, IsError
	// PartImage has Name, MediaType, Data, Width, Height. It belongs to user messages, or follows the tool result that
	// it belongs to, with that result's CallID.
	PartImage PartKind = "image"
)

// Part is a piece of a Message. ProviderData is the block's data from the same provider's adapter, byte-exact (nil
// after a change of model).
type Part struct {
	Kind         PartKind
	Text         string
	CallID       string // Parley's own id; adapters map it back to the provider's, see ChunkToolCall
	Name         string
	Arguments    []byte // JSON object; the provider's exact text, if any, is in ProviderData
	IsError      bool
	ProviderData []byte
	MediaType    string // for an image: image/png, image/jpeg, image/gif or image/webp
	Data         []byte // an image's bytes
	Width        int    // in pixels
	Height       int
	Sequence     int64 // the record's message that it shows, for explanations only; not sent; 0 for none
}

// EncodedRequest is a request as sent.
type EncodedRequest struct {
	Model   parley.ModelID
	Body    []byte // request_hash is its SHA-256
	Version int    // encoder version; old ones stay decodable under golden tests
	// Longest is how many tokens the request lets an answer have, its reasoning included; 0: it does not say.
	Longest int
}
