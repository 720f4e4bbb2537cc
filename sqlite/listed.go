package sqlite

import (
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// listedColumns reads "FROM messages m" for lists. Each column of a row costs the
// driver several locks and an allocation, which is most of what a list costs, so
// the small columns travel together: 2.6 µs a row instead of 6.2 with a column each.
const listedColumns = listedBefore + "m.content" + listedBehind + "m.provider_data"

// The columns of a list beside the two that can be large.
const (
	listedBefore = `m.id || ifnull(m.turn_id, zeroblob(16)) || ifnull(m.author_id,
	zeroblob(16)) || ifnull(m.content_hash, zeroblob(32))
  || m.role || ' ' || m.status || ' ' || m.author_kind || ' ' || octet_length(m.model) || ' ' || m.model ||
  	m.author_name,
 m.sequence, m.position, `
	listedBehind = `, nullif(m.metadata, '{}'), m.usage, m.created_at, m.updated_at,
 m.internal | (m.steer << 1) | (m.pinned << 2) | (m.context_edge << 3) | (m.set_aside << 4) | (m.chain_version << 5) |
  (m.step << 8) | (m.token_estimate << 32),
 CASE WHEN m.tool_call_id <> '' OR m.tool_name <> '' OR m.call_ordinal <> 0
  THEN m.call_ordinal || ' ' || octet_length(m.tool_call_id) || ' ' || m.tool_call_id || m.tool_name END,
 CASE WHEN m.context_note <> '' OR m.agent_type <> '' OR m.iteration <> 0 OR m.revision <> 0
   OR m.covers_through IS NOT NULL OR m.overrides IS NOT NULL OR m.error IS NOT NULL
  THEN json_array(m.context_note, m.agent_type, m.iteration, m.revision, m.covers_through, m.overrides, m.error) END,
 `
)

// Layout of the first listed column: four fixed blobs, then words.
const (
	listedTurn   = 16
	listedAuthor = 32
	listedHash   = 48
	listedWords  = 80
)

// location says where the messages of a list are stored: shared are the logs that a fork reads before its own.
type location struct {
	workspaceID, sessionID, logID parley.ID
	through                       int64 // 0: to the end
	shared                        []transition.Part
}

// scanListed reads a message of a list. JSON that was made unreadable from outside never breaks the list (A15): the
// content appears as text with an error, other columns are left empty.
func scanListed(r *row, at location) (m parley.Message) {
	m.WorkspaceID, m.SessionID, m.LogID = at.workspaceID, at.sessionID, at.logID
	head := r.text()
	if len(head) < listedWords {
		r.fail(head)
		return m
	}
	copy(m.ID[:], head)
	copy(m.TurnID[:], head[listedTurn:])
	copy(m.Author.ID[:], head[listedAuthor:])
	copy(m.ContentHash[:], head[listedHash:])
	role, words, _ := strings.Cut(head[listedWords:], " ")
	status, words, _ := strings.Cut(words, " ")
	author, words, _ := strings.Cut(words, " ")
	model, name := cutCounted(words)
	m.Role, m.Status, m.Author.Kind, m.Author.Name, m.Model = parley.Role(
		role,
	), parley.MessageStatus(
		status,
	), parley.AuthorKind(
		author,
	), name, parley.ModelID(
		model,
	)

	m.Sequence, m.Position, m.Content = r.int64(), r.maybe(), r.json()
	metadata, usage := r.json(), r.text()
	m.CreatedAt, m.UpdatedAt = r.time(), r.time()
	bits := r.int64()
	m.Internal, m.Steer = bits&1 != 0, bits&2 != 0
	m.Marks = parley.Marks{Pinned: bits&4 != 0, ContextEdge: bits&8 != 0, SetAside: bits&16 != 0}
	if !m.ContentHash.IsZero() {
		m.ChainVersion = int(bits >> 5 & 7)
	}
	m.Step, m.TokenEstimate = int(bits>>8&0xffffff), int(bits>>32)
	if tool := r.text(); tool != "" {
		ordinal, rest, _ := strings.Cut(tool, " ")
		m.CallOrdinal, _ = strconv.ParseInt(ordinal, 10, 64) // SQLite wrote the digits
		m.ToolCallID, m.ToolName = cutCounted(rest)
	}
	if rare := r.text(); rare != "" {
		scanRare(&m, rare)
	}
	m.ProviderData = r.bytes()
	m.Usage = transition.ReadUsage(usage)
	m.Metadata = transition.ReadableObject(metadata)
	if len(m.Content) == 0 || m.Content[0] != '{' || !transition.ReadableJSON(m.Content) {
		m.Content, m.Error = parley.UnreadableContent(m.Role, m.Content)
	}
	return m
}

// cutCounted splits "<bytes> <that many bytes><rest>".
func cutCounted(text string) (counted, rest string) {
	digits, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(digits)
	if err != nil || n > len(rest) {
		return "", rest
	}
	return rest[:n], rest[n:]
}

// scanRare reads columns that most messages lack, from a JSON array in which columns of JSON are strings.
func scanRare(m *parley.Message, text string) {
	var overrides, failure *string
	columns := [...]any{&m.ContextNote, &m.AgentType, &m.Iteration, &m.Revision, &m.CoversThrough, &overrides, &failure}
	var raw [len(columns)]json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return // SQLite wrote the array; only invalid UTF-8 can spoil it
	}
	for i, column := range columns {
		_ = json.Unmarshal(raw[i], column) // SQLite wrote each from a column; an odd one stays empty
	}
	if overrides != nil && json.Unmarshal([]byte(*overrides), &m.Settings) != nil {
		m.Settings = parley.Settings{}
	}
	if failure != nil {
		m.Error = &parley.Failure{}
		if json.Unmarshal([]byte(*failure), m.Error) != nil {
			m.Error = &parley.Failure{Class: parley.ClassInternal, Sentence: "The stored error could not be read."}
		}
	}
}
