package parley

import (
	"encoding/json"
	"strconv"
)

// linkTag begins the bytes that a link's hash covers.
const linkTag = "parley link 1\n"

// AuditLink is one link of the audit's chain: for an entry, or for the heads that sessions had when it was made. Its
// hash covers the previous link, so that nothing can be removed or changed without rebuilding everything after it.
type AuditLink struct {
	Number      int64 // from 1, gap-free, over all workspaces
	LinkedAt    Time  // by the database's clock
	WorkspaceID ID    // set for an entry, like the next two
	EntryAt     Time
	EntryID     ID // zero for a link of heads
	Heads       []LinkedHead
	Hash        Hash
}

// LinkedHead says how far a session's record reached: its last settled message and that message's hash. Sequence 0 says
// that the session was deleted.
type LinkedHead struct {
	WorkspaceID ID
	SessionID   ID
	Sequence    int64
	Hash        Hash
}

// Anchor names the end of the audit's chain. Kept where those who can write to the database cannot reach it, it later
// shows whether the chain up to there is unchanged.
type Anchor struct {
	Number int64 `json:"number"`
	Hash   Hash  `json:"hash"`
}

// String returns "number:hash".
func (a Anchor) String() string { return strconv.FormatInt(a.Number, 10) + ":" + a.Hash.String() }

// LinkHash returns the hash of a link: SHA-256 over the line "parley link 1", the hash of the previous link (the zero
// hash before the first) and the canonical JSON of the entry or the heads, the time and the number. A link for an entry
// that was gone before it was linked names that entry: no later entry fits.
func LinkHash(previous Hash, link *AuditLink, entry *AuditEntry) Hash {
	out := append(make([]byte, 0, 512+128*len(link.Heads)), linkTag...)
	out = append(out, previous[:]...)
	switch {
	case entry != nil:
		out = append(out, `{"entry":`...)
		out = entry.appendCanonical(out)
	case !link.EntryID.IsZero():
		out = append(out, `{"gone":`...)
		out = (&AuditEntry{WorkspaceID: link.WorkspaceID, At: link.EntryAt, ID: link.EntryID}).appendCanonical(out)
	default:
		out = append(out, `{"heads":`...)
		out = AppendHeads(out, link.Heads)
	}
	out = append(out, `,"linked_at":`...)
	out = strconv.AppendInt(out, int64(link.LinkedAt), 10)
	out = append(out, `,"number":`...)
	out = strconv.AppendInt(out, link.Number, 10)
	return HashOf(append(out, '}'))
}

// appendCanonical appends the entry as canonical JSON.
func (e *AuditEntry) appendCanonical(out []byte) []byte {
	out = AppendJSONString(append(out, `{"action":`...), e.Action)
	out = strconv.AppendInt(append(out, `,"at":`...), int64(e.At), 10)
	for _, member := range []struct {
		name string
		id   ID
	}{{"id", e.ID}, {"principal_id", e.PrincipalID}} {
		out = appendIDMember(out, member.name, member.id)
	}
	out = AppendJSONString(append(out, `,"principal_name":`...), e.PrincipalName)
	for _, member := range []struct {
		name string
		id   ID
	}{{"request_id", e.RequestID}, {"session_id", e.SessionID}, {"target_id", e.TargetID},
		{"workspace_id", e.WorkspaceID}} {
		out = appendIDMember(out, member.name, member.id)
	}
	return append(out, '}')
}

// appendIDMember appends an id, unless it is zero.
func appendIDMember(out []byte, name string, id ID) []byte {
	if id.IsZero() {
		return out
	}
	return AppendJSONString(append(AppendJSONString(append(out, ','), name), ':'), id.String())
}

// AppendHeads appends heads as canonical JSON: [["workspace","session",sequence,"hash"], …].
func AppendHeads(out []byte, heads []LinkedHead) []byte {
	out = append(out, '[')
	for i := range heads {
		h := &heads[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = AppendJSONString(append(out, '['), h.WorkspaceID.String())
		out = AppendJSONString(append(out, ','), h.SessionID.String())
		out = strconv.AppendInt(append(out, ','), h.Sequence, 10)
		out = append(AppendJSONString(append(out, ','), h.Hash.String()), ']')
	}
	return append(out, ']')
}

// ParseHeads reads what AppendHeads wrote.
func ParseHeads(text string) ([]LinkedHead, error) {
	var rows [][4]json.RawMessage
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, WrapError(CodeUnavailable, err, "the heads of a link cannot be read")
	}
	heads := make([]LinkedHead, len(rows))
	for i, row := range rows {
		h := &heads[i]
		for j, into := range []any{&h.WorkspaceID, &h.SessionID, &h.Sequence, &h.Hash} {
			if err := json.Unmarshal(row[j], into); err != nil {
				return nil, WrapError(CodeUnavailable, err, "the heads of a link cannot be read")
			}
		}
	}
	return heads, nil
}

// LinkAll makes the links after an anchor: of entries, of entries that are gone, and of heads, in this order.
func LinkAll(from Anchor, at Time, entries, gone []AuditEntry, heads []LinkedHead) []AuditLink {
	links := make([]AuditLink, 0, len(entries)+len(gone)+1)
	add := func(link AuditLink, entry *AuditEntry) {
		from.Number++
		link.Number, link.LinkedAt = from.Number, at
		link.Hash = LinkHash(from.Hash, &link, entry)
		from.Hash = link.Hash
		links = append(links, link)
	}
	for i := range entries {
		e := &entries[i]
		add(AuditLink{WorkspaceID: e.WorkspaceID, EntryAt: e.At, EntryID: e.ID}, e)
	}
	for i := range gone {
		add(AuditLink{WorkspaceID: gone[i].WorkspaceID, EntryAt: gone[i].At, EntryID: gone[i].ID}, nil)
	}
	if len(heads) > 0 {
		add(AuditLink{Heads: heads}, nil)
	}
	return links
}
