package parley

import (
	"context"
	"encoding/base64"
	"encoding/json"
)

// The bounds of one step of a verification.
const (
	VerifyMessages = 500     // messages that a step holds against their hashes, about
	VerifyPage     = 64      // of them that are in memory
	VerifySessions = 100     // sessions that it begins at most
	VerifyLinks    = 256     // links of the audit
	VerifyEntries  = 1000    // entries that are looked up
	VerifyBytes    = 8 << 20 // of files
)

// VerifyStage is what a step of a verification looks at.
type VerifyStage string

// The stages, in their order.
const (
	VerifyPages   VerifyStage = "pages"   // the database's own check, table by table
	VerifyRecords VerifyStage = "records" // each session's messages against their hashes
	VerifyFiles   VerifyStage = "files"   // the bytes of files against their hashes
	VerifyChain   VerifyStage = "chain"   // the links of the audit, its entries, and the heads they name
	VerifyAudit   VerifyStage = "audit"   // entries that nobody linked
	VerifyDone    VerifyStage = "done"
)

// VerifyPlace is how far a verification is: what a step begins with. The zero value
// is its beginning. As text it is opaque; it can be kept, and the verification goes on
// there later.
type VerifyPlace struct {
	Stage       VerifyStage
	Table       string // pages: the last one that was checked
	WorkspaceID ID
	ID          ID    // session, blob or entry
	At          Time  // of the entry
	Number      int64 // last message of the session, or link, that was checked
	Within      bool  // the session is not at its end
	Hash        Hash  // of that message or link
}

// MarshalText writes the place; "" is the beginning.
func (p VerifyPlace) MarshalText() ([]byte, error) {
	if p == (VerifyPlace{}) {
		return nil, nil
	}
	type plain VerifyPlace
	raw, err := json.Marshal(plain(p))
	if err != nil {
		return nil, err
	}
	return []byte(base64.RawURLEncoding.EncodeToString(raw)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (p *VerifyPlace) UnmarshalText(text []byte) error {
	*p = VerifyPlace{}
	if len(text) == 0 {
		return nil
	}
	type plain VerifyPlace
	raw, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || json.Unmarshal(raw, (*plain)(p)) != nil {
		return InvalidField("place", "is not what a step said; begin anew without a place")
	}
	return nil
}

// Finding is something that a verification found wrong.
type Finding struct {
	Stage VerifyStage `json:"stage"`
	Where string      `json:"where"`
	Says  string      `json:"says"`
	Do    string      `json:"do"`
}

// VerifyStep is one step of a verification: small enough to be asked for over HTTP,
// and to be made beside a server's work.
type VerifyStep struct {
	Stage    VerifyStage `json:"stage" doc:"What it looked at."`
	Next     VerifyPlace `json:"next" doc:"Where the next step begins. Opaque."`
	Done     bool        `json:"done"`    // it was the last one
	Checked  int64       `json:"checked"` // tables, messages, chunks, links or entries of this step
	Findings []Finding   `json:"findings"`
	Anchor   Anchor      `json:"anchor"` // the end of the audit's chain
}

// RecordHead is what a session's head says of its record.
type RecordHead struct {
	WorkspaceID  ID
	SessionID    ID
	LastSequence int64
	LastHash     Hash
	Listed       bool // its row among the sessions is there; set by RecordHeads
}

// RecordRow is a message of a record as the hash chain sees it.
type RecordRow struct {
	Sequence int64
	Input    ChainInput
	Hash     Hash // zero while it streams
}

// LinkRow is a link with its entry; the entry is nil when it is not there, or when
// the link is of heads.
type LinkRow struct {
	AuditLink
	Entry *AuditEntry
}

// HeadFound is what there is of a linked head.
type HeadFound struct {
	Deleted   bool // the session is marked as deleted
	Explained bool // by an entry of the audit
	There     bool // the session is
	Hash      Hash // of the message at the head's sequence; zero when there is none
}

// StoredBlob names bytes of files.
type StoredBlob struct {
	WorkspaceID ID
	ID          ID
	Hash        Hash
	Size        int64
}

// AuditKey names an entry.
type AuditKey struct {
	WorkspaceID ID
	At          Time
	ID          ID
	Loose       bool // it is neither linked nor waiting for it
}

// VerifyStore shows a store's rows of all workspaces for verification. Each method
// reads a bounded number of rows in one snapshot, beside everything else.
type VerifyStore interface {
	AuditLinker
	// CheckPages has the database check the table behind one ("": the first), and
	// returns its name; "" when there is none left.
	CheckPages(ctx context.Context, after string) (table string, findings []Finding, err error)
	// RecordHeads are the heads of sessions that are not deleted, behind one.
	RecordHeads(ctx context.Context, after ID, limit int) ([]RecordHead, error)
	// RecordRows are the messages of a session's record behind a sequence, with its
	// head of the same moment; there is false when it is gone or deleted.
	RecordRows(ctx context.Context, workspaceID, sessionID ID, after int64, limit int) (head RecordHead, rows []RecordRow, there bool, err error)
	// StoredBlobs are the whole blobs behind one, by id.
	StoredBlobs(ctx context.Context, after ID, limit int) ([]StoredBlob, error)
	// FileChunk is that of FileStore.
	FileChunk(ctx context.Context, workspaceID, blobID ID, n int) ([]byte, error)
	// LinkRows are the links behind a number.
	LinkRows(ctx context.Context, after int64, limit int) ([]LinkRow, error)
	// HeadsFound looks linked heads up, in their order.
	HeadsFound(ctx context.Context, heads []LinkedHead) ([]HeadFound, error)
	// AuditKeys are the entries behind one, in the order of their keys.
	AuditKeys(ctx context.Context, after AuditKey, limit int) ([]AuditKey, error)
}
