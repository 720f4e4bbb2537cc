package parley

import (
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
		return InvalidField("place", "is not a place that a step returned; leave it out to start over")
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
