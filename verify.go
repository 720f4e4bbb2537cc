package parley

import (
	"encoding/base64"
	"encoding/json"
)

// The bounds of one step of a verification.
const (
	VerifyMessages = 500     // about how many messages a step checks
	VerifyPage     = 64      // messages in memory at a time
	VerifySessions = 100     // most sessions that a step begins
	VerifyLinks    = 256     // links of the audit
	VerifyEntries  = 1000    // entries looked up
	VerifyBytes    = 8 << 20 // of files
)

// VerifyStage is what a step of a verification checks.
type VerifyStage string

// The stages, in their order.
const (
	VerifyPages   VerifyStage = "pages"   // the database's own check, table by table
	VerifyRecords VerifyStage = "records" // each session's messages against their hashes
	VerifyFiles   VerifyStage = "files"   // the bytes of files against their hashes
	VerifyChain   VerifyStage = "chain"   // the audit's links, their entries, and the heads that they name
	VerifyAudit   VerifyStage = "audit"   // unlinked entries
	VerifyDone    VerifyStage = "done"
)

// VerifyPlace is a position in a verification: where a step begins. The zero value is the beginning. Its text form is
// opaque; it can be stored to continue the verification later.
type VerifyPlace struct {
	Stage       VerifyStage
	Table       string // for pages: the last table checked
	WorkspaceID ID
	ID          ID    // session, blob or entry
	At          Time  // of the entry
	Number      int64 // the last message of the session, or link, checked
	Within      bool  // the session has further messages
	Hash        Hash  // of that message or link
}

// MarshalText writes the position; "" is the beginning.
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

// Finding is a problem that a verification found.
type Finding struct {
	Stage VerifyStage `json:"stage"`
	Where string      `json:"where"`
	Says  string      `json:"says"`
	Do    string      `json:"do"`
}

// VerifyStep is one step of a verification: small enough for one HTTP request, and to run beside a server's work.
type VerifyStep struct {
	Stage    VerifyStage `json:"stage" doc:"What it checked."`
	Next     VerifyPlace `json:"next" doc:"Where the next step begins. Opaque."`
	Done     bool        `json:"done"`    // this was the last step
	Checked  int64       `json:"checked"` // tables, messages, chunks, links or entries of this step
	Findings []Finding   `json:"findings"`
	Anchor   Anchor      `json:"anchor"` // the end of the audit's chain
}
