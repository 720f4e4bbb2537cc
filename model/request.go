package model

import "example.org/parley"

// Request is a request in no provider's terms: what prompt builds and
// adapters encode.
type Request struct {
	Model  parley.ModelID
	System string
	Tools  []parley.ToolDefinition // sorted by name
	// user and assistant turns alternate as the record has them; adapters merge where their wire wants it
	Messages   []Message
	Parameters parley.Parameters
	Think      bool // ask for reasoning where the model can
	Search     bool // allow the provider's own web search
	// CacheKey asks for the provider's prompt cache, if the provider wants to be
	// asked: requests with one key begin alike. "" asks for nothing.
	CacheKey string
	// Purpose is for the simulator, which has no other way to tell: no provider is told.
	Purpose parley.CallPurpose
}

// Role is who speaks in a Message.
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

// PartKind says which fields of a Part count.
type PartKind string

// The kinds of part.
const (
	PartText PartKind = "text" // Text
	// PartReasoning: Text, ProviderData (adapters drop it where their wire cannot take it back)
	PartReasoning  PartKind = "reasoning"
	PartToolCall   PartKind = "tool_call"   // CallID, Name, Arguments, ProviderData
	PartToolResult PartKind = "tool_result" // CallID, Name, Text, IsError
	// PartImage has Name, MediaType, Data, Width, Height. It is of user messages, or stands
	// behind the tool result that it belongs to, with that one's CallID.
	PartImage PartKind = "image"
)

// Part is a piece of a Message. ProviderData is what the same
// provider's adapter gave with the block (nil after a change of model): byte-exact.
type Part struct {
	Kind         PartKind
	Text         string
	CallID       string // Parley's own id; adapters map it back to the provider's, see ChunkToolCall
	Name         string
	Arguments    []byte // JSON object; the provider's exact text, when there is one, is in ProviderData
	IsError      bool
	ProviderData []byte
	MediaType    string // of an image: image/png, image/jpeg, image/gif or image/webp
	Data         []byte // its bytes
	Width        int    // in pixels
	Height       int
	Sequence     int64 // of the record's message that it shows, for explanations: no part of what is sent; 0 for none
}

// EncodedRequest is a request as it goes over the wire.
type EncodedRequest struct {
	Model   parley.ModelID
	Body    []byte // request_hash is its SHA-256
	Version int    // encoder version; old ones stay decodable under golden tests
}
