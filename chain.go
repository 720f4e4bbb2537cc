package parley

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
)

// The versions of the hash chain. Each row says which version its hash uses; rows are never rewritten, so a record may
// begin under an older version and continue under a newer one, never the reverse.
const (
	ChainVersion1 = 1 // without author, model, created_at and metadata
	ChainVersion  = 2 // of new messages: docs/adr/0035
)

// chainTag begins the bytes that a hash of version 2 covers.
const chainTag = "parley chain 2\n"

// ChainInput is a message's contribution to the hash chain. It leaves out ids, usage and marks, so that copies, imports
// and forks of a conversation have the same hashes.
type ChainInput struct {
	Version       int
	Role          Role
	Status        MessageStatus
	Content       json.RawMessage // canonical
	ContextNote   string
	CallOrdinal   int64 // of the tool_call itself, or of the call answered by a tool_result; 0 otherwise
	ProviderData  []byte
	CoversThrough *int64

	// From version 2.
	AuthorKind AuthorKind
	AuthorName string
	Model      ModelID
	CreatedAt  Time
	Metadata   json.RawMessage // canonical, as settled
	Internal   bool
}

// ChainInput returns the message's contribution under its own chain version.
func (m *Message) ChainInput() ChainInput {
	return ChainInput{
		Version:       m.ChainVersion,
		Role:          m.Role,
		Status:        m.Status,
		Content:       m.Content,
		ContextNote:   m.ContextNote,
		CallOrdinal:   m.CallOrdinal,
		ProviderData:  m.ProviderData,
		CoversThrough: m.CoversThrough,
		AuthorKind:    m.Author.Kind,
		AuthorName:    m.Author.Name,
		Model:         m.Model,
		CreatedAt:     m.CreatedAt,
		Metadata:      m.Metadata,
		Internal:      m.Internal,
	}
}

// ChainHash returns the content_hash of a message: SHA-256 over the previous message's hash (the zero hash before the
// first) and the canonical JSON of its input; from version 2 on, with the version in front of both. A tool call's own
// id is replaced by its ordinal in the conversation, and the ids of files in parts are left out: the part's sha256
// identifies the bytes. It returns CodeUnavailable for a version that this program does not know.
func ChainHash(previous Hash, in ChainInput) (Hash, error) {
	content, err := in.content()
	if err != nil {
		return Hash{}, err
	}
	out := make([]byte, 0, len(chainTag)+len(previous)+len(content)+len(in.Metadata)+len(in.ProviderData)*2+256)
	switch in.Version {
	case ChainVersion1:
		out = append(append(out, previous[:]...), '{')
	case ChainVersion:
		out = append(append(append(out, chainTag...), previous[:]...), `{"author":{"kind":`...)
		out = AppendJSONString(out, string(in.AuthorKind))
		out = AppendJSONString(append(out, `,"name":`...), in.AuthorName)
		out = append(out, "},"...)
	default:
		return Hash{}, Errorf(
			CodeUnavailable,
			"the hash is of chain version %d, which this Parley does not know",
			in.Version,
		)
	}
	out = in.appendShared(out, content)
	if in.Version >= ChainVersion {
		out = in.appendSettled(out)
	}
	out = in.appendEnd(out)
	return HashOf(out), nil
}

// appendShared appends the members up to covers_through.
func (in *ChainInput) appendShared(out []byte, content json.RawMessage) []byte {
	if in.CallOrdinal != 0 {
		out = append(out, `"call":`...)
		out = strconv.AppendInt(out, in.CallOrdinal, 10)
		out = append(out, ',')
	}
	out = append(out, `"content":`...)
	out = append(out, content...)
	if in.ContextNote != "" {
		out = append(out, `,"context_note":`...)
		out = AppendJSONString(out, in.ContextNote)
	}
	if in.CoversThrough != nil {
		out = append(out, `,"covers_through":`...)
		out = strconv.AppendInt(out, *in.CoversThrough, 10)
	}
	return out
}

// appendSettled appends created_at, internal, metadata and model.
func (in *ChainInput) appendSettled(out []byte) []byte {
	out = append(out, `,"created_at":`...)
	out = strconv.AppendInt(out, int64(in.CreatedAt), 10)
	if in.Internal {
		out = append(out, `,"internal":true`...)
	}
	out = append(out, `,"metadata":`...)
	if len(in.Metadata) == 0 {
		out = append(out, "{}"...)
	}
	out = append(out, in.Metadata...)
	if in.Model != "" {
		out = AppendJSONString(append(out, `,"model":`...), string(in.Model))
	}
	return out
}

// appendEnd appends provider_data, role and status.
func (in *ChainInput) appendEnd(out []byte) []byte {
	if len(in.ProviderData) > 0 {
		out = append(out, `,"provider_data":"`...)
		out = hex.AppendEncode(out, in.ProviderData)
		out = append(out, '"')
	}
	out = append(out, `,"role":"`...)
	out = append(out, in.Role...)
	out = append(out, `","status":"`...)
	out = append(out, in.Status...)
	return append(out, `"}`...)
}

// content returns the content without the ids that a copy of it does not share.
func (in *ChainInput) content() (json.RawMessage, error) {
	switch {
	case in.Role == RoleToolCall:
		var call ToolCallContent
		if err := json.Unmarshal(in.Content, &call); err != nil {
			return nil, WrapError(CodeInternal, err, "a tool_call's content cannot be read")
		}
		call.ID = ""
		return EncodeContent(call)
	case in.Version >= ChainVersion && holdsFiles(in.Content) && holdsParts(in.Content):
		return withoutFileIDs(in.Content)
	}
	return in.Content, nil
}

// withoutFileIDs removes file_id from the parts of a content.
func withoutFileIDs(content json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		return nil, WrapError(CodeInternal, err, "a message's content cannot be read")
	}
	var parts []map[string]json.RawMessage
	if json.Unmarshal(members["parts"], &parts) != nil || parts == nil {
		return content, nil //nolint:nilerr // these parts belong to something else
	}
	for _, part := range parts {
		delete(part, "file_id")
	}
	return withParts(members, parts)
}

// WithoutFiles removes the ids of some files from the parts of a content; the rest of the parts stays, and so does the
// message's hash. It returns CodeInvalid for a content that names files outside parts.
func WithoutFiles(content json.RawMessage, files []ID) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	var parts []map[string]json.RawMessage
	if json.Unmarshal(content, &members) != nil || json.Unmarshal(members["parts"], &parts) != nil {
		return nil, InvalidField("content.files", "are not here; upload them first")
	}
	for _, part := range parts {
		var id ID
		if json.Unmarshal(part["file_id"], &id) == nil && slices.Contains(files, id) {
			delete(part, "file_id")
		}
	}
	return withParts(members, parts)
}

// withParts returns a content with other parts.
func withParts(members map[string]json.RawMessage, parts []map[string]json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	var err error
	if err = encoder.Encode(parts); err != nil {
		return nil, WrapError(CodeInternal, err, "the parts of a message cannot be written")
	}
	members["parts"] = bytes.Clone(out.Bytes())
	out.Reset()
	if err = encoder.Encode(members); err != nil {
		return nil, WrapError(CodeInternal, err, "a message's content cannot be written")
	}
	return CanonicalJSON(out.Bytes())
}
